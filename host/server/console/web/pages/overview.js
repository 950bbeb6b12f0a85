export async function show({ body }) { body.textContent = ""; }
