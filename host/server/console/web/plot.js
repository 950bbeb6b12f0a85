// Plots of series over time by uPlot, with their figures in a sentence for who does not see them.
import uPlot from "./third_party/uplot.js";
import { h, setText } from "./dom.js";

const colours = ["--plot-1", "--plot-2", "--plot-3", "--plot-4"];
const dashes = [[], [6, 3], [2, 3], [8, 3, 2, 3]]; // so that colour alone says nothing

function time(seconds) {
  const t = new Date(seconds * 1000);
  const two = (n) => String(n).padStart(2, "0");
  return `${two(t.getHours())}:${two(t.getMinutes())}` + (t.getSeconds() ? `:${two(t.getSeconds())}` : "");
}

// alone returns the places of values without a neighbour: a line has two ends, and would not show them.
function alone(values) {
  const none = (v) => v === null || v === undefined;
  return values.flatMap((v, i) => (!none(v) && none(values[i - 1]) && none(values[i + 1]) ? [i] : []));
}

// plot returns an element and set(data): seconds since 1970, then one list of numbers for each label.
// unit makes a text of a value; the axis reaches to least at the least.
export function plot(title, labels, unit, least = 1) {
  const place = h("div", { class: "plot", role: "img", "aria-label": title });
  const words = h("p", { class: "plotwords" });
  const element = h("figure", { class: "card" }, h("figcaption", {}, title), place, words);
  let chart = null,
    data = null;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  function make() {
    chart?.destroy();
    const axis = {
      stroke: css("--muted-fixed"),
      grid: { stroke: css("--line-fixed"), width: 1 },
      ticks: { show: false },
      font: "11px system-ui",
      size: 58,
    };
    chart = new uPlot(
      {
        width: Math.max(200, place.clientWidth),
        height: 150,
        padding: [8, 26, 0, 0],
        cursor: { drag: { x: false, y: false } },
        legend: { show: labels.length > 1, live: false },
        scales: {
          x: { time: true, range: () => [Math.min(data[0][0], data[0].at(-1) - 60), data[0].at(-1)] },
          y: { range: (_, min, max) => [0, Math.max(max * 1.15, least)] },
        },
        axes: [
          { ...axis, size: 26, values: (_, splits) => splits.map(time) },
          {
            ...axis,
            values: (_, splits) => splits.map((v) => unit(v)),
            size: (_, values) => 18 + 6.5 * Math.max(4, ...(values ?? []).map((v) => String(v).length)),
          },
        ],
        series: [
          {},
          ...labels.map((label, i) => ({
            label,
            stroke: css(colours[i]),
            width: 1.6,
            dash: dashes[i],
            points: { show: true, size: 5, filter: (u, i) => alone(u.data[i]) },
            fill: labels.length === 1 ? css("--plot-fill") : undefined,
          })),
        ],
      },
      data,
      place,
    );
  }
  const resize = new ResizeObserver(() => chart?.setSize({ width: Math.max(200, place.clientWidth), height: 150 }));
  resize.observe(place);
  const scheme = () => data && make();
  document.addEventListener("themechange", scheme);

  return {
    element,
    set(next) {
      data = next;
      if (chart) chart.setData(data);
      else make();
      const said = labels
        .map((label, i) => {
          const values = data[i + 1].filter((v) => v !== null && v !== undefined);
          return values.length
            ? `${label}: now ${unit(values.at(-1))}, at most ${unit(Math.max(...values))}`
            : `${label}: none`;
        })
        .join(". ");
      setText(words, said);
      place.setAttribute("aria-label", `${title}. ${said}`);
    },
    close() {
      resize.disconnect();
      document.removeEventListener("themechange", scheme);
      chart?.destroy();
    },
  };
}
