import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'
import type { RegisterOutcome, Registration, StationKey } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import { toStoreError } from '../database/postgres-error.ts'

/**
 * Limit of a statement's {@link weightOf}. Its lock delays messages: 15 ms for 100 new push tokens, 65 ms for 100 new
 * stations.
 */
const STATEMENT_WEIGHT = 100
/** Limit of the queue, in units of {@link weightOf}: five seconds of new push tokens, or 80 MB of avatars. */
const MOST_WAITING = 10_000
/**
 * Number of characters of an avatar that add one unit of weight. A registration with the largest avatar weighs nine.
 */
const AVATAR_CHARACTERS = 8192
/**
 * Limit of a write's waiting time in milliseconds. An older write is rejected at its turn, because its caller has given
 * up.
 */
const LONGEST_WAIT_MS = 10_000

interface RegistryQueueParts {
  /** Registers different stations in one statement. Outcomes are in the order of `registrations`. */
  readonly registerAll: (registrations: readonly Registration[]) => Promise<readonly RegisterOutcome[]>
  readonly clock: Pick<Clock, 'elapsed'>
}

/**
 * Runs the writes of the registry in order. Rejects a write with `store_overloaded` if too many wait, or if it has
 * waited too long.
 */
export interface RegistryQueue {
  /** Registers a station, in one statement with other waiting registrations. */
  register(registration: Registration): Promise<RegisterOutcome>
  /** Runs a write that is not a registration. It shares no statement with other writes. */
  write<T>(work: () => Promise<T>): Promise<T>
}

interface WaitingRequest {
  readonly since: number
  refuse(error: unknown): void
}

interface WaitingRegistration extends WaitingRequest {
  readonly kind: 'registration'
  readonly registration: Registration
  answer(outcome: RegisterOutcome): void
}

interface WaitingWrite extends WaitingRequest {
  readonly kind: 'write'
  /** Never rejects. */
  run(): Promise<void>
}

type Waiting = WaitingRegistration | WaitingWrite

/** Opens an empty queue of writes to the registry. */
export function openRegistryQueue({ registerAll, clock }: RegistryQueueParts): RegistryQueue {
  const batches = openBatches<Waiting, void>({
    async run(waiting) {
      for (const group of groupsOf(waiting.filter(isInTime))) {
        if (group.kind === 'write') await group.run()
        else await registerGroup(group.registrations)
      }
      return waiting.map(() => undefined)
    },
    most: STATEMENT_WEIGHT,
    parallel: 1,
    mostWaiting: MOST_WAITING,
    weight: weightOf,
  })

  function isInTime({ since, refuse }: Waiting): boolean {
    if (clock.elapsed() - since <= LONGEST_WAIT_MS) return true
    refuse(new StoreError('store_overloaded'))
    return false
  }

  /**
   * Performs a group of registrations in one statement. If the statement fails, tries each registration alone, so that
   * only the faulty one fails.
   */
  async function registerGroup(group: readonly WaitingRegistration[]): Promise<void> {
    try {
      const outcomes = await registerAll(group.map(({ registration }) => registration))
      for (const [index, { answer, refuse }] of group.entries()) {
        const outcome = outcomes[index]
        if (outcome) answer(outcome)
        else refuse(new StoreError('store_fault'))
      }
    } catch (cause) {
      const error = toStoreError(cause)
      if (error.code === 'store_fault' && group.length > 1) for (const waiting of group) await registerGroup([waiting])
      else for (const { refuse } of group) refuse(error)
    }
  }

  return {
    register: (registration) =>
      new Promise((answer, refuse) => {
        const since = clock.elapsed()
        batches.add({ kind: 'registration', registration, since, answer, refuse }).catch(refuse)
      }),
    write: (work) =>
      new Promise((resolve, refuse) => {
        const run = () => work().then(resolve, refuse)
        batches.add({ kind: 'write', since: clock.elapsed(), run, refuse }).catch(refuse)
      }),
  }
}

function weightOf(waiting: Waiting): number {
  const characters = waiting.kind === 'registration' ? waiting.registration.avatar?.image.length : undefined
  return 1 + Math.floor((characters ?? 0) / AVATAR_CHARACTERS)
}

/** Registrations of different stations, which share a statement. */
interface RegistrationGroup {
  readonly kind: 'registrations'
  readonly registrations: WaitingRegistration[]
  readonly stations: Set<StationKey>
}

/** Groups consecutive entries that can share a statement. Keeps their order. */
function groupsOf(waiting: readonly Waiting[]): readonly (RegistrationGroup | WaitingWrite)[] {
  const groups: (RegistrationGroup | WaitingWrite)[] = []
  for (const entry of waiting) {
    if (entry.kind === 'write') {
      groups.push(entry)
      continue
    }
    const { key } = entry.registration
    const last = groups.at(-1)
    if (last?.kind === 'registrations' && !last.stations.has(key)) {
      last.registrations.push(entry)
      last.stations.add(key)
    } else groups.push({ kind: 'registrations', registrations: [entry], stations: new Set([key]) })
  }
  return groups
}
