-- The monthly report of the library: loans, returns, fines, and books nobody asks for.

CREATE TABLE IF NOT EXISTS branches (
    branch_id   INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    opened_on   DATE NOT NULL,
    city        TEXT
);

CREATE TABLE IF NOT EXISTS books (
    book_id     INTEGER PRIMARY KEY,
    branch_id   INTEGER NOT NULL REFERENCES branches (branch_id),
    title       TEXT NOT NULL,
    author      TEXT NOT NULL,
    shelf       TEXT,
    bought_on   DATE,
    price_cents INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE IF NOT EXISTS loans (
    loan_id     INTEGER PRIMARY KEY,
    book_id     INTEGER NOT NULL REFERENCES books (book_id),
    reader_id   INTEGER NOT NULL,
    lent_on     DATE NOT NULL,
    due_on      DATE NOT NULL,
    returned_on DATE
);

CREATE INDEX IF NOT EXISTS loans_by_book ON loans (book_id, lent_on);
CREATE INDEX IF NOT EXISTS loans_open ON loans (due_on) WHERE returned_on IS NULL;

-- Loans of a month, by branch.
SELECT b.name,
       COUNT(*) AS loans,
       COUNT(DISTINCT l.reader_id) AS readers,
       AVG(l.returned_on - l.lent_on) AS mean_days
  FROM loans l
  JOIN books k ON k.book_id = l.book_id
  JOIN branches b ON b.branch_id = k.branch_id
 WHERE l.lent_on >= DATE '2024-05-01'
   AND l.lent_on < DATE '2024-06-01'
 GROUP BY b.name
 ORDER BY loans DESC;

-- What is late today, and for how long.
SELECT l.loan_id,
       l.reader_id,
       k.title,
       CURRENT_DATE - l.due_on AS days_late,
       CASE
           WHEN CURRENT_DATE - l.due_on > 60 THEN 'lost'
           WHEN CURRENT_DATE - l.due_on > 14 THEN 'remind'
           ELSE 'wait'
       END AS step
  FROM loans l
  JOIN books k USING (book_id)
 WHERE l.returned_on IS NULL
   AND l.due_on < CURRENT_DATE
 ORDER BY days_late DESC, l.loan_id;

-- Books that nobody borrowed for two years.
WITH last_loan AS (
    SELECT book_id, MAX(lent_on) AS last_on
      FROM loans
     GROUP BY book_id
)
SELECT k.book_id, k.title, k.shelf, n.last_on
  FROM books k
  LEFT JOIN last_loan n ON n.book_id = k.book_id
 WHERE n.last_on IS NULL
    OR n.last_on < CURRENT_DATE - 730
 ORDER BY k.shelf, k.title;

-- Fines: ten cents a day, never more than the book is worth.
UPDATE readers
   SET owed_cents = owed_cents + fine.cents
  FROM (
        SELECT l.reader_id,
               SUM(LEAST(10 * (l.returned_on - l.due_on), k.price_cents)) AS cents
          FROM loans l
          JOIN books k USING (book_id)
         WHERE l.returned_on > l.due_on
         GROUP BY l.reader_id
       ) fine
 WHERE readers.reader_id = fine.reader_id;
