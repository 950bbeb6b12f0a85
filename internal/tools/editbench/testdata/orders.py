"""Orders of a small workshop: what was asked for, what it costs, when it is due."""

from __future__ import annotations

import datetime as dt
import logging
from collections import defaultdict
from dataclasses import dataclass, field

log = logging.getLogger(__name__)

VAT = 0.19
GRACE_DAYS = 3
STATES = ("draft", "placed", "paid", "shipped", "void")


class OrderError(Exception):
    """Raised when an order cannot take the step that it was asked to take."""

    def __init__(self, order_id: int, reason: str) -> None:
        super().__init__(f"order {order_id}: {reason}")
        self.order_id = order_id
        self.reason = reason


@dataclass
class Line:
    sku: str
    count: int
    unit_price: float
    note: str = ""

    def total(self) -> float:
        # A line with nothing in it costs nothing, whatever its price says.
        if self.count <= 0:
            return 0.0
        return round(self.count * self.unit_price, 2)


@dataclass
class Order:
    order_id: int
    customer: str
    placed_on: dt.date
    lines: list[Line] = field(default_factory=list)
    state: str = "draft"

    def net(self) -> float:
        return sum(line.total() for line in self.lines)

    def gross(self) -> float:
        net = self.net()
        tax = net * VAT  # one rate for everything
        return round(net + tax, 2)

    def due_on(self) -> dt.date:
        return self.placed_on + dt.timedelta(days=14)

    def is_late(self, today: dt.date) -> bool:
        if self.state in ("paid", "shipped", "void"):
            return False
        limit = self.due_on() + dt.timedelta(days=GRACE_DAYS)
        return today > limit

    def advance(self, state: str) -> None:
        if state not in STATES:
            raise OrderError(self.order_id, f"there is no state {state!r}")
        if STATES.index(state) < STATES.index(self.state):
            # Going back would lose the record of what was done.
            raise OrderError(self.order_id, f"cannot go from {self.state} to {state}")
        log.info("order %d: %s -> %s", self.order_id, self.state, state)
        self.state = state


class Book:
    """All orders, by number and by customer."""

    def __init__(self) -> None:
        self._orders: dict[int, Order] = {}
        self._by_customer: dict[str, list[int]] = defaultdict(list)
        self._next = 1

    def open(self, customer: str, placed_on: dt.date) -> Order:
        order = Order(self._next, customer, placed_on)
        self._orders[order.order_id] = order
        self._by_customer[customer].append(order.order_id)
        self._next += 1
        return order

    def find(self, order_id: int) -> Order:
        try:
            return self._orders[order_id]
        except KeyError:
            raise OrderError(order_id, "is not in the book") from None

    def late(self, today: dt.date) -> list[Order]:
        found = [o for o in self._orders.values() if o.is_late(today)]
        found.sort(key=lambda o: (o.due_on(), o.order_id))
        return found

    def owed_by(self, customer: str) -> float:
        owed = 0.0
        for order_id in self._by_customer.get(customer, []):
            order = self._orders[order_id]
            if order.state == "placed":
                owed += order.gross()
        return round(owed, 2)

    def remind(self, today: dt.date, send) -> int:
        sent = 0
        for order in self.late(today):
            text = "Order {} was due on {}".format(order.order_id, order.due_on())
            try:
                send(order.customer, text)
            except OSError as err:
                log.warning("no reminder to %s: %s", order.customer, err)
                continue
            sent += 1
        return sent
