package example.ledger;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/** A ledger keeps entries in pairs: what one account gives, another takes. */
public final class Ledger {
    private static final int SCALE = 2;

    private final Map<String, Account> accounts = new HashMap<>();
    private final List<Entry> entries = new ArrayList<>();
    private long nextNumber = 1;

    public enum Side { DEBIT, CREDIT }

    public record Entry(long number, LocalDate day, String from, String to, BigDecimal amount, String text) {
        public Entry {
            Objects.requireNonNull(day, "day");
            Objects.requireNonNull(amount, "amount");
            if (amount.signum() <= 0) {
                throw new IllegalArgumentException("amount must be positive: " + amount);
            }
        }
    }

    static final class Account {
        final String name;
        final Side side;
        BigDecimal balance = BigDecimal.ZERO;

        Account(String name, Side side) {
            this.name = name;
            this.side = side;
        }

        void debit(BigDecimal amount) {
            balance = side == Side.DEBIT ? balance.add(amount) : balance.subtract(amount);
        }

        void credit(BigDecimal amount) {
            balance = side == Side.CREDIT ? balance.add(amount) : balance.subtract(amount);
        }
    }

    public void open(String name, Side side) {
        if (accounts.containsKey(name)) {
            throw new IllegalStateException("account exists: " + name);
        }
        accounts.put(name, new Account(name, side));
    }

    public long post(LocalDate day, String from, String to, BigDecimal amount, String text) {
        Account giver = account(from);
        Account taker = account(to);
        BigDecimal rounded = amount.setScale(SCALE, RoundingMode.HALF_EVEN);
        Entry entry = new Entry(nextNumber, day, from, to, rounded, text);
        // Both sides or none: nothing below may throw.
        giver.credit(rounded);
        taker.debit(rounded);
        entries.add(entry);
        nextNumber++;
        return entry.number();
    }

    public BigDecimal balance(String name) {
        return account(name).balance;
    }

    public List<Entry> between(LocalDate first, LocalDate last) {
        List<Entry> found = new ArrayList<>();
        for (Entry entry : entries) {
            if (entry.day().isBefore(first)) {
                continue;
            }
            if (entry.day().isAfter(last)) {
                continue;
            }
            found.add(entry);
        }
        return Collections.unmodifiableList(found);
    }

    public boolean inBalance() {
        BigDecimal debits = BigDecimal.ZERO;
        BigDecimal credits = BigDecimal.ZERO;
        for (Account account : accounts.values()) {
            if (account.side == Side.DEBIT) {
                debits = debits.add(account.balance);
            } else {
                credits = credits.add(account.balance);
            }
        }
        return debits.compareTo(credits) == 0;
    }

    private Account account(String name) {
        Account account = accounts.get(name);
        if (account == null) {
            throw new IllegalArgumentException("no such account: " + name);
        }
        return account;
    }
}
