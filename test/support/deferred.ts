export type Deferred = ReturnType<typeof deferred>

/** Creates a promise and the function that resolves it, like `Promise.withResolvers` in newer versions of Node.js. */
export function deferred() {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
