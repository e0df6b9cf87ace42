import type { UserId } from '../port.ts'
import { damaged, type KeyedStore, keyedRecords } from './keyed-store.ts'
import { limitOf, type StoredOptions, type StoredUserGroups } from './records.ts'

interface Memberships {
  readonly mirrored: readonly string[]
  readonly byHand: readonly string[]
}

/** The user groups of a server over any store of texts by key: one key for each user, with the names of the groups. */
export function keyedUserGroups(store: KeyedStore, options: StoredOptions = {}): StoredUserGroups {
  const records = keyedRecords(store, limitOf(options))
  const membershipsOf = async (domainKey: string, id: UserId) =>
    readMemberships(await records.read('groups', [domainKey, id]))
  const join = (kind: keyof Memberships) => (domainKey: string, id: UserId, name: string) =>
    records.change('groups', [domainKey, id], (record) => {
      const known = readMemberships(record)
      return known[kind].includes(name) ? undefined : { ...known, [kind]: [...known[kind], name] }
    })
  const leave = (kind: keyof Memberships) => (domainKey: string, id: UserId, name: string) =>
    records.change('groups', [domainKey, id], (record) => {
      const known = readMemberships(record)
      return known[kind].includes(name) ? { ...known, [kind]: known[kind].filter((one) => one !== name) } : undefined
    })

  return {
    isShared: false,
    mirroredOf: async (domainKey, id) => (await membershipsOf(domainKey, id)).mirrored,
    join: join('mirrored'),
    leave: leave('mirrored'),
    joinByHand: join('byHand'),
    leaveByHand: leave('byHand'),
    allOf: async (domainKey, id) => {
      const { mirrored, byHand } = await membershipsOf(domainKey, id)
      return [...mirrored, ...byHand].sort()
    },
  }
}

function readMemberships(record: unknown): Memberships {
  if (record === undefined) return { mirrored: [], byHand: [] }
  if (typeof record !== 'object' || record === null) throw damaged('groups')
  const { mirrored, byHand }: Partial<Record<string, unknown>> = { ...record }
  if (!isNames(mirrored) || !isNames(byHand)) throw damaged('groups')
  return { mirrored, byHand }
}

function isNames(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((name) => typeof name === 'string')
}
