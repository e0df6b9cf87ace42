import { until } from '../../support/until.ts'
import type { CommandedProcess } from './commanded-process.ts'
import { answersAt } from './endpoint-check.ts'

/**
 * Resolves once discovery answers. @throws Error with the end of the program's output, if it exits or the time runs out
 */
export async function untilDiscovered(issuer: string, program: CommandedProcess, limitMs: number): Promise<void> {
  const answers = answersAt(`${issuer}/.well-known/openid-configuration`)
  const isUp = () => {
    if (!program.isUp()) throw new Error('the provider ended at its start')
    return answers()
  }
  await until(`discovery at ${issuer}`, isUp, limitMs).catch((cause: unknown) => {
    throw new Error(program.output(), { cause })
  })
}
