/** What is to be called of the file, and with what. */
interface Call {
  readonly name: string
  readonly given: readonly unknown[]
}

const calls: Readonly<Record<string, (...given: readonly unknown[]) => unknown>> = await import(`./${process.argv[2]}`)

// One that rejects ends the process, which tells of it.
process.on('message', async ({ name, given }: Call) => process.send?.({ answer: await calls[name]?.(...given) }))
process.send?.({})
