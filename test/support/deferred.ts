export type Deferred = ReturnType<typeof deferred>

/** A promise that is resolved from outside, as `Promise.withResolvers` of later versions of Node gives one. */
export function deferred() {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
