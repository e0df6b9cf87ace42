import { copyFileSync, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { Clock } from '../../../../sidecar/clock.ts'
import type { Log } from '../../../../sidecar/log.ts'
import type {
  AppendOutcome,
  ExclusiveStore,
  NewMessages,
  ReceivedMessage,
  RegisterOutcome,
  Registration,
  Store,
  StoreSettings,
} from '../../../../sidecar/messages/store.ts'
import type { Connection } from '../../../../sidecar/store/sqlite/database/connection.ts'
import { openFile } from '../../../../sidecar/store/sqlite/database/open-file.ts'
import { buildStore, openSqliteStore } from '../../../../sidecar/store/sqlite/open-sqlite.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import type { ContractStores } from '../contract/stores.ts'

export const SETTINGS: StoreSettings = {
  history: { perStation: 50, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 },
  stations: { max: 5000, expireAfterHours: 720 },
  ack: { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 },
  push: { coalesceMs: 2000 },
  rateLimit: { newStationsPerHour: 10_000 },
  instance: 'here',
}

/** Stores on real files in a folder of their own, closed and removed after each test; the test turns their clock. */
export interface TemporaryStores extends ContractStores {
  readonly clock: FakeClock
  /** Log lines written so far. */
  readonly lines: Readonly<Record<string, unknown>>[]
  readonly log: Log
  path(name?: string): string
  open(settings?: Partial<StoreSettings>, path?: string, clock?: Clock): Promise<ExclusiveStore>
  /** Opens a store. Also returns its database connection, through which a test can make writes fail. */
  openOver(settings?: Partial<StoreSettings>): Promise<{ store: ExclusiveStore; connection: Connection }>
  /** Opens a store, and registers these stations. */
  openWith(...keys: readonly string[]): Promise<ExclusiveStore>
  openOverWith(...keys: readonly string[]): ReturnType<TemporaryStores['openOver']>
}

/** Call inside a `describe`. */
export function temporaryStores(): TemporaryStores {
  let clock = new FakeClock()
  const opened: Store[] = []
  beforeEach(() => {
    clock = new FakeClock()
  })
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close()
  })
  const { log, lines } = recordedLog()
  const folder = temporaryFolder()

  function keep<Opened extends Store>(store: Opened): Opened {
    opened.push(store)
    return store
  }

  const path = (name = 'store.sqlite') => folder.path(name)
  return {
    get clock() {
      return clock
    },
    lines,
    log,
    now: () => clock.now(),
    async shift(ms) {
      if (ms > 0) await clock.advance(ms)
      else clock.set(clock.now() + ms)
    },
    path,
    open: async (settings = {}, file = path(), time = clock) =>
      keep(await openSqliteStore(file, { ...SETTINGS, ...settings }, time, log)),
    async wipe() {
      for (const file of [path(), `${path()}-wal`]) await rm(file, { force: true })
    },
    crash() {
      copyAsAfterCrash(path(), path('crashed'))
      return async () => {
        await this.wipe()
        copyAsAfterCrash(path('crashed'), path())
        for (const file of [path('crashed'), path('crashed-wal')]) await rm(file, { force: true })
      }
    },
    async openOver(settings = {}) {
      const connection = await openFile(path())
      return { store: keep(await buildStore(connection, path(), { ...SETTINGS, ...settings }, clock, log)), connection }
    },
    async openWith(...keys) {
      const store = await this.open()
      await register(store, ...keys)
      return store
    },
    async openOverWith(...keys) {
      const over = await this.openOver()
      await register(over.store, ...keys)
      return over
    },
  }
}

/**
 * Copies the database file and its WAL file, as a crash at this moment would leave them. As long as the WAL file is
 * smaller than 4 MB, no checkpoint runs between the two copies.
 */
export function copyAsAfterCrash(from: string, to: string): void {
  copyFileSync(from, to)
  if (existsSync(`${from}-wal`)) copyFileSync(`${from}-wal`, `${to}-wal`)
}

export function registration(key: string, changes: Partial<Registration> = {}): Registration {
  return {
    key,
    deviceId: '',
    platform: 'android',
    pushToken: `token-of-${key}`,
    ackMessages: false,
    client: '192.0.2.1',
    ...changes,
  }
}

export function register(store: Store, ...keys: string[]): Promise<RegisterOutcome[]> {
  return Promise.all(keys.map((key) => store.stations.register(registration(key))))
}

export function message(text: string, changes: Partial<ReceivedMessage> = {}): ReceivedMessage {
  const { from = 'W1AW' } = changes
  return { from, sourceAsReceived: from, to: 'N0CALL', seqId: '1', text: Buffer.from(text), ...changes }
}

/** Stores messages, and returns their outcomes. A text alone becomes a {@link message}. */
export function append(
  { history }: Pick<Store, 'history'>,
  ...messages: readonly (string | ReceivedMessage)[]
): Promise<readonly AppendOutcome[]> {
  const batch = messages.map((item) => (typeof item === 'string' ? message(item) : item))
  return history.append(batch, false)
}

/** Like {@link append}, but returns only the kinds of the outcomes. */
export async function kindsOf(...appended: Parameters<typeof append>): Promise<readonly AppendOutcome['kind'][]> {
  return (await append(...appended)).map(({ kind }) => kind)
}

/** The stamp of a message that is stored. */
export async function stampOf(...appended: Parameters<typeof append>): Promise<number> {
  const [outcome] = await append(...appended)
  return outcome?.kind === 'stored' ? outcome.message.stamp : Number.NaN
}

/** Returns the texts of a registered station's messages that are newer than `since`. */
export async function held(store: Pick<Store, 'history'>, station = 'N0CALL', since = 0): Promise<readonly string[]> {
  return texts((await newer(store, station, since)).messages)
}

/** Returns a registered station's messages that are newer than `since`. */
export async function newer(
  store: Pick<Store, 'history'>,
  station: string,
  since = 0,
  device = '',
): Promise<NewMessages> {
  const answer = await store.history.since(station, device, since)
  if (!answer) throw new Error(`${station} is not registered, or has no such device.`)
  return answer
}

export function texts(messages: readonly { readonly text: Buffer }[]): string[] {
  return messages.map(({ text }) => text.toString())
}

/** Returns everything that a store shows of its stations. */
export async function shownBy({ stations, history }: Store): Promise<object> {
  const keys = [...stations.keys()].sort()
  const answers = await Promise.all(keys.map((key) => newer({ history }, key)))
  return {
    stations: keys.map((key) => stations.get(key)),
    histories: answers.map(({ messages, acks, newestDropped }) => ({
      messages: messages.map((item) => ({ ...item, text: item.text.toString('latin1') })),
      acks,
      newestDropped,
    })),
    avatars: [...(await stations.avatars(keys))].sort(),
  }
}

/** Resolves with the error of a rejected promise; fails if it is fulfilled. */
export async function rejection(
  promise: Promise<unknown>,
): Promise<{ code?: string; remedy?: string; message: string }> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('It did not reject.')
}
