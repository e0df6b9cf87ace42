/** Name and arguments of the exported function to call. */
interface Call {
  readonly name: string
  readonly given: readonly unknown[]
}

const calls: Readonly<Record<string, (...given: readonly unknown[]) => unknown>> = await import(`./${process.argv[2]}`)

// A rejected call ends the process, which prints the error.
process.on('message', async ({ name, given }: Call) => process.send?.({ answer: await calls[name]?.(...given) }))
process.send?.({})
