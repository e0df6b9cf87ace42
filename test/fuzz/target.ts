/** Code that takes input from outside, and what must hold for every input. */
export interface Target {
  /** Name of the target, and of the folder with its cases. */
  readonly name: string
  /** Typical inputs. Most inputs that are tried are changed copies of them. */
  readonly samples: readonly Buffer[]
  open(): Promise<Subject>
}

export interface Subject {
  /** Throws, or rejects, when `input` breaks something. */
  check(input: Buffer): void | Promise<void>
  close(): Promise<void>
}

/** Returns a target whose check is a function without state. */
export function pure(name: string, samples: readonly (string | Buffer)[], check: (input: Buffer) => void): Target {
  return {
    name,
    samples: samples.map((sample) => (typeof sample === 'string' ? Buffer.from(sample) : sample)),
    open: async () => ({ check, close: async () => undefined }),
  }
}
