export interface Deferred {
  readonly promise: Promise<void>
  resolve(): void
}

/** A promise that is resolved from outside, as `Promise.withResolvers` of later versions of Node gives one. */
export function deferred(): Deferred {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
