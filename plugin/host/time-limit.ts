/** The same outcome; rejects with `reason` when there is none after that time. The work itself goes on. */
export function withinTime<Result>(work: Promise<Result>, limitMs: number, reason: string): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(reason)), limitMs)
    work.then(
      (result) => {
        clearTimeout(timer)
        resolve(result)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}
