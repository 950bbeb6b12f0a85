using System;
using System.Collections.Generic;
using System.Linq;

namespace Billing.Invoices
{
    /// <summary>One line of an invoice; the price is without tax.</summary>
    public sealed record InvoiceLine(string Article, int Quantity, decimal UnitPrice)
    {
        public decimal Net => Quantity * UnitPrice;
    }

    public sealed class Invoice
    {
        private readonly List<InvoiceLine> lines = new();
        private readonly Dictionary<string, decimal> rates = new()
        {
            ["standard"] = 0.19m,
            ["reduced"] = 0.07m,
        };

        public Invoice(string number, DateOnly issued)
        {
            Number = number ?? throw new ArgumentNullException(nameof(number));
            Issued = issued;
        }

        public string Number { get; }
        public DateOnly Issued { get; }
        public DateOnly Due => Issued.AddDays(30);

        public void Add(string article, int quantity, decimal unitPrice)
        {
            if (quantity <= 0)
            {
                throw new ArgumentOutOfRangeException(nameof(quantity), "at least one piece");
            }
            // The same article at the same price goes on one line.
            var index = lines.FindIndex(l => l.Article == article && l.UnitPrice == unitPrice);
            if (index >= 0)
            {
                var old = lines[index];
                lines[index] = old with { Quantity = old.Quantity + quantity };
                return;
            }
            lines.Add(new InvoiceLine(article, quantity, unitPrice));
        }

        public decimal Net() => lines.Sum(l => l.Net);

        public decimal Tax(string rate)
        {
            if (!rates.TryGetValue(rate, out var percent))
            {
                throw new KeyNotFoundException($"no tax rate {rate}");
            }
            return Math.Round(Net() * percent, 2, MidpointRounding.AwayFromZero);
        }

        public bool Overdue(DateOnly today, int graceDays = 3)
        {
            return today > Due.AddDays(graceDays);
        }

        public override string ToString()
        {
            return $"{Number}: {lines.Count} lines, {Net():0.00} net, due {Due:yyyy-MM-dd}";
        }
    }
}
