/** Code that takes input from outside, and what must hold for every input. */
export interface Target {
  /** Also the folder of its cases. */
  readonly name: string
  /** Inputs as they should be: most of what is tried is one of them, changed. */
  readonly samples: readonly Buffer[]
  open(): Promise<Subject>
}

export interface Subject {
  /** Throws, or rejects, when `input` breaks something. */
  check(input: Buffer): void | Promise<void>
  close(): Promise<void>
}

/** A target that is a pure rule. */
export function pure(name: string, samples: readonly (string | Buffer)[], check: (input: Buffer) => void): Target {
  return {
    name,
    samples: samples.map((sample) => (typeof sample === 'string' ? Buffer.from(sample) : sample)),
    open: async () => ({ check, close: async () => undefined }),
  }
}
