import type { Shown } from '../phones.ts'
import type { Caller } from './callers.ts'
import type { Instance } from './instance.ts'
import type { Letter } from './mail.ts'
import type { Told } from './told.ts'

/** The network passes an ack on that comes again so much later. */
const ACK_INTERVAL_MS = 29_000

/** What instances say while the database is away. */
const TROUBLE: ReadonlySet<unknown> = new Set(['store-write-failed', 'api-failed'])

/** What became of it all. */
export interface Verdict {
  readonly sent: number
  /** Sent and in no history. */
  readonly lost: number
  /** More than once in a history. */
  readonly doubled: number
  /** Stations whose phone, from cursor to cursor, was shown something else than its history. */
  readonly astray: number
  readonly calls: number
  readonly failures: number
  readonly pushes: number
  /** No notification told of these. */
  readonly untold: number
  /** Told again by another instance, since the one that had told it was killed. */
  readonly pushedAgain: number
  /** Told again without that excuse. */
  readonly pushedTwice: number
  readonly acks: number
  /** Of the messages that should be acknowledged, those that are not: claimed by an instance that was killed before it sent the ack. */
  readonly unacknowledged: number
  /** Needlessly, after a database was killed, which then forgets them. */
  readonly ackedAgain: number
  readonly ackedTwice: number
  readonly kills: number
  readonly freezes: number
  readonly upgrades: number
  readonly databaseKills: number
  /** From the death of a listener until two listen again. */
  readonly takeoversMs: readonly number[]
  /** What must not have happened, the first few of a kind. */
  readonly faults: readonly string[]
}

interface Evidence extends Pick<Verdict, 'calls' | 'kills' | 'freezes' | 'upgrades' | 'takeoversMs'> {
  readonly callers: readonly Caller[]
  readonly letters: ReadonlyMap<string, Letter>
  readonly told: Told
  readonly instances: readonly Instance[]
  readonly faults: readonly string[]
  readonly databaseKilledAt: readonly number[]
}

const FEW = 5

export async function judge(evidence: Evidence): Promise<Verdict> {
  const { callers, letters, told, instances, databaseKilledAt, ...rest } = evidence
  const histories = new Map<Caller, readonly Shown[]>()
  for (const caller of callers) histories.set(caller, await historyOf(caller, instances))
  const kept = [...histories.values()].flat()
  const ids = new Set(kept.map(({ id }) => id))
  const lost = [...letters.keys()].filter((id) => !ids.has(id))
  const wrong = kept.filter(({ id, bytes }) => letters.get(id)?.text !== bytes.toString())
  const doubled = kept.length - ids.size
  const astray = [...histories].flatMap(([caller, history]) => caller.astray(history) ?? [])
  const pushes = [...histories].map(([{ key }, history]) => ({
    untold: told.untold(key, history),
    ...told.twice(key, history),
  }))
  const untold = pushes.flatMap((one) => one.untold)
  const pushedTwice = pushes.flatMap((one) => one.inexcusable)
  const acks = acksOf(letters, new Set(callers.filter((one) => one.acks).map(({ key }) => key)), databaseKilledAt)
  const errors = instances.flatMap(({ name, errors: lines }) =>
    lines
      .filter(({ event }) => databaseKilledAt.length === 0 || !TROUBLE.has(event))
      .map((line) => `${name}: ${JSON.stringify(line)}`),
  )
  const few = (what: string, which: readonly string[]) => which.slice(0, FEW).map((one) => `${what}: ${one}`)
  return {
    ...rest,
    sent: letters.size,
    lost: lost.length,
    doubled,
    astray: astray.length,
    failures: callers.reduce((sum, one) => sum + one.failures, 0),
    pushes: told.count,
    untold: untold.length,
    pushedAgain: pushes.reduce((sum, { excused }) => sum + excused, 0),
    pushedTwice: pushedTwice.length,
    ...acks.counts,
    databaseKills: databaseKilledAt.length,
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
      ...(rest.kills + rest.upgrades + databaseKilledAt.length === 0 ? few('not acknowledged', acks.missing) : []),
      ...few('an error in a log', errors),
    ],
  }
}

async function historyOf(caller: Caller, instances: readonly Instance[]): Promise<readonly Shown[]> {
  for (const instance of instances) {
    const history = await caller.history(instance)
    if (history) return history
  }
  throw new Error(`nobody has the history of ${caller.key}`)
}

function acksOf(
  letters: ReadonlyMap<string, Letter>,
  acking: ReadonlySet<string>,
  databaseKilledAt: readonly number[],
) {
  const twice: string[] = []
  const missing: string[] = []
  const counts = { acks: 0, ackedAgain: 0, ackedTwice: 0 }
  for (const { id, to, ackedAt } of letters.values()) {
    counts.acks += ackedAt.length
    if (ackedAt.length === 0 && acking.has(to)) missing.push(id)
    for (const [place, at] of ackedAt.entries()) {
      const before = ackedAt[place - 1]
      if (before === undefined || at - before >= ACK_INTERVAL_MS) continue
      if (databaseKilledAt.some((killedAt) => killedAt <= at && killedAt > before - ACK_INTERVAL_MS))
        counts.ackedAgain += 1
      else {
        counts.ackedTwice += 1
        twice.push(id)
      }
    }
  }
  return { counts: { ...counts, unacknowledged: missing.length }, twice, missing }
}
