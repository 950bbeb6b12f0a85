// A queue of jobs that runs a few at a time, tries again those that fail, and can be watched.

export type JobState = 'waiting' | 'running' | 'done' | 'failed';

export interface Job<T> {
  id: string;
  run: (signal: AbortSignal) => Promise<T>;
  state: JobState;
  tries: number;
  lastError?: Error;
}

export interface QueueOptions {
  limit: number;
  maxTries: number;
  pauseMs: number;
}

type Listener = (id: string, state: JobState) => void;

const defaults: QueueOptions = { limit: 4, maxTries: 3, pauseMs: 250 };

export class JobQueue<T> {
  private readonly options: QueueOptions;
  private readonly jobs = new Map<string, Job<T>>();
  private readonly waiting: string[] = [];
  private readonly listeners = new Set<Listener>();
  private running = 0;
  private closed = false;

  constructor(options: Partial<QueueOptions> = {}) {
    this.options = { ...defaults, ...options };
    if (this.options.limit < 1) {
      throw new RangeError('limit must be at least 1, got ' + this.options.limit);
    }
  }

  add(id: string, run: Job<T>['run']): void {
    if (this.closed) {
      throw new Error(`queue is closed, job ${id} was not added`);
    }
    if (this.jobs.has(id)) {
      throw new Error(`there is a job ${id} already`);
    }
    this.jobs.set(id, { id, run, state: 'waiting', tries: 0 });
    this.waiting.push(id);
    this.fill();
  }

  watch(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  stateOf(id: string): JobState | undefined {
    const job = this.jobs.get(id);
    return job === undefined ? undefined : job.state;
  }

  close(): void {
    this.closed = true;
    this.waiting.length = 0;
  }

  // fill starts jobs until the limit is reached or none is left.
  private fill(): void {
    while (this.running < this.options.limit && this.waiting.length > 0) {
      const id = this.waiting.shift() as string;
      const job = this.jobs.get(id);
      if (job === undefined) {
        continue;
      }
      this.running++;
      void this.start(job);
    }
  }

  private async start(job: Job<T>): Promise<void> {
    const abort = new AbortController();
    this.enter(job, 'running');
    job.tries++;
    try {
      await job.run(abort.signal);
      this.enter(job, 'done');
    } catch (error) {
      job.lastError = error instanceof Error ? error : new Error(String(error));
      this.again(job);
    } finally {
      this.running--;
      this.fill();
    }
  }

  private again(job: Job<T>): void {
    if (job.tries >= this.options.maxTries || this.closed) {
      this.enter(job, 'failed');
      return;
    }
    // Each try waits twice as long as the one before.
    const wait = this.options.pauseMs * 2 ** (job.tries - 1);
    this.enter(job, 'waiting');
    setTimeout(() => {
      this.waiting.push(job.id);
      this.fill();
    }, wait);
  }

  private enter(job: Job<T>, state: JobState): void {
    job.state = state;
    for (const listener of this.listeners) {
      listener(job.id, state);
    }
  }
}

export function summary<T>(jobs: Iterable<Job<T>>): Record<JobState, number> {
  const counts: Record<JobState, number> = { waiting: 0, running: 0, done: 0, failed: 0 };
  for (const job of jobs) {
    counts[job.state] += 1;
  }
  return counts;
}
