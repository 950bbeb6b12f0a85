<?php

declare(strict_types=1);

namespace Newsletter;

use DateTimeImmutable;
use RuntimeException;

final class Mailer
{
    private const MAX_PER_MINUTE = 120;

    /** @var array<string, Subscriber> */
    private array $subscribers = [];
    private int $sent = 0;

    public function __construct(
        private readonly Transport $transport,
        private readonly string $sender,
    ) {
    }

    public function subscribe(string $address, string $name, ?DateTimeImmutable $since = null): void
    {
        $address = strtolower(trim($address));
        if (!filter_var($address, FILTER_VALIDATE_EMAIL)) {
            throw new RuntimeException("not an address: {$address}");
        }
        $this->subscribers[$address] = new Subscriber($address, $name, $since ?? new DateTimeImmutable());
    }

    public function unsubscribe(string $address): bool
    {
        $known = isset($this->subscribers[$address]);
        unset($this->subscribers[$address]);
        return $known;
    }

    // Nobody gets the same issue twice, even when a run is broken off.
    public function send(Issue $issue): int
    {
        $count = 0;
        foreach ($this->subscribers as $address => $subscriber) {
            if ($issue->wasSentTo($address)) {
                continue;
            }
            if ($this->sent >= self::MAX_PER_MINUTE) {
                sleep(60);
                $this->sent = 0;
            }
            $body = str_replace(['{name}', '{date}'], [$subscriber->name, $issue->date], $issue->text);
            $this->transport->deliver($this->sender, $address, $issue->subject, $body);
            $issue->markSent($address);
            $this->sent++;
            $count++;
        }
        return $count;
    }

    public function report(): string
    {
        return sprintf('%d subscribers, %d letters in this minute', count($this->subscribers), $this->sent);
    }
}
