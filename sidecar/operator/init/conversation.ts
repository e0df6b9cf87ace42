import { createInterface } from 'node:readline/promises'

/** A conversation with the operator at a terminal. If stdin is not a terminal, it only shows lines. */
export interface Conversation {
  /** Whether the operator can answer questions. */
  readonly isInteractive: boolean
  /** Shows a line of text to the operator. */
  say(line: string): void
  /** Shows a question and returns the answer without surrounding blanks. Rejects once the operator ends the input. */
  ask(question: string): Promise<string>
  close(): void
}

/** Opens a conversation on the terminal. If stdin is not a terminal, no question can be asked. */
export function openConversation(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Conversation {
  const lines = input.isTTY ? createInterface({ input, output }) : undefined
  const ended = new AbortController()
  // Without this listener, a pending question would never settle after the operator ends the input.
  lines?.once('close', () => ended.abort())
  return {
    isInteractive: lines !== undefined,
    say: (line) => void output.write(`${line}\n`),
    async ask(question) {
      if (!lines) throw new Error('stdin is not a terminal')
      return (await lines.question(question, { signal: ended.signal })).trim()
    },
    close: () => lines?.close(),
  }
}
