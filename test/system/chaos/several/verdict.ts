import type { Shown } from '../phones.ts'
import type { Pushes } from '../pushes.ts'
import type { Caller } from './callers.ts'
import type { Instance } from './instance.ts'
import type { Letter } from './mail.ts'

/** After this time, the network forwards an identical ack again. */
const ACK_INTERVAL_MS = 29_000

/** Events that instances log while the database is away. */
const TROUBLE: ReadonlySet<unknown> = new Set(['store-write-failed', 'api-failed'])

/** The result of a whole run. */
export interface Verdict {
  /** Counts, by their description. */
  readonly figures: Readonly<Record<string, number>>
  /** Times from the death of a listener until two instances listen again. */
  readonly takeoversMs: readonly number[]
  /** The first few violations of each kind. */
  readonly faults: readonly string[]
}

interface Evidence extends Verdict {
  readonly callers: readonly Caller[]
  readonly letters: ReadonlyMap<string, Letter>
  readonly told: Pushes
  readonly instances: readonly Instance[]
  readonly databaseKilledAt: readonly number[]
  /** Whether any instance was killed or replaced. */
  readonly isKilled: boolean
}

const FEW = 5

export async function judge(evidence: Evidence): Promise<Verdict> {
  const { callers, letters, told: notified, instances, databaseKilledAt, isKilled, takeoversMs } = evidence
  const histories = new Map<Caller, readonly Shown[]>()
  for (const caller of callers) histories.set(caller, await historyOf(caller, instances))
  const keptMessages = [...histories].flatMap(([{ isFirst }, history]) => (isFirst ? history : []))
  const ids = new Set(keptMessages.map(({ id }) => id))
  const lost = [...letters.keys()].filter((id) => !ids.has(id))
  const wrong = keptMessages.filter(({ id, bytes }) => letters.get(id)?.text !== bytes.toString())
  const doubled = keptMessages.length - ids.size
  const astray = [...histories].flatMap(([caller, history]) => caller.astray(history) ?? [])
  const pushes = [...histories].map(([{ target }, history]) => ({
    untold: notified.untold(target, history),
    ...notified.twice(target, history),
  }))
  const untold = pushes.flatMap((push) => push.untold)
  const pushedTwice = pushes.flatMap((push) => push.inexcusable)
  const acks = acksOf(letters, new Set(callers.filter((caller) => caller.acks).map(({ key }) => key)), databaseKilledAt)
  const errors = instances.flatMap(({ name, errors: lines }) =>
    lines
      .filter(({ event }) => databaseKilledAt.length === 0 || !TROUBLE.has(event))
      .map((line) => `${name}: ${JSON.stringify(line)}`),
  )
  const few = (label: string, items: readonly string[]) => items.slice(0, FEW).map((text) => `${label}: ${text}`)
  return {
    takeoversMs,
    figures: {
      ...evidence.figures,
      'messages sent': letters.size,
      lost: lost.length,
      doubled,
      'phones astray': astray.length,
      'answers 500': callers.reduce((sum, caller) => sum + caller.failures, 0),
      pushes: notified.all.length,
      untold: untold.length,
      // Another instance notified again, because the earlier sender was killed.
      'told again after a kill': pushes.reduce((sum, { excused }) => sum + excused, 0),
      'told twice': pushedTwice.length,
      ...acks.figures,
    },
    faults: [
      ...evidence.faults.slice(0, 4 * FEW),
      ...few('lost', lost),
      ...few(
        'stored otherwise than it was sent',
        wrong.map(({ id }) => id),
      ),
      ...(doubled > 0 ? [`${doubled} messages are stored twice`] : []),
      ...few('a phone has something else than the history', astray),
      ...few('no phone was told of it', untold),
      ...few('a phone was told of it twice, and who told it lives', pushedTwice),
      ...few('acknowledged twice', acks.twice),
      ...(!isKilled && databaseKilledAt.length === 0 ? few('not acknowledged', acks.missing) : []),
      ...few('an error in a log', errors),
    ],
  }
}

async function historyOf(caller: Caller, instances: readonly Instance[]): Promise<readonly Shown[]> {
  for (const instance of instances) {
    const history = await caller.history(instance)
    if (history) return history
  }
  throw new Error(`nobody has the history of ${caller.name}`)
}

function acksOf(
  letters: ReadonlyMap<string, Letter>,
  acking: ReadonlySet<string>,
  databaseKilledAt: readonly number[],
) {
  const twice: string[] = []
  const missing: string[] = []
  let [count, doubled] = [0, 0]
  for (const { id, to, ackedAt } of letters.values()) {
    count += ackedAt.length
    if (ackedAt.length === 0 && acking.has(to)) missing.push(id)
    for (const [place, ackedMs] of ackedAt.entries()) {
      const previousMs = ackedAt[place - 1]
      if (previousMs === undefined || ackedMs - previousMs >= ACK_INTERVAL_MS) continue
      // A killed database forgets which acks were sent.
      if (databaseKilledAt.some((killedAt) => killedAt <= ackedMs && killedAt > previousMs - ACK_INTERVAL_MS))
        doubled += 1
      else twice.push(id)
    }
  }
  const figures = { acks: count, 'acks missing': missing.length, 'acks again': doubled, 'acks twice': twice.length }
  return { figures, twice, missing }
}
