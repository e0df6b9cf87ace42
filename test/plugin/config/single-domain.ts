import { expect } from 'chai'
import type { DomainReading } from '../../../plugin/config/read.ts'
import type { DomainSettings } from '../../../plugin/config/settings.ts'
import { type ReadOptions, readDomains } from '../../../plugin/mount/read-domains.ts'

type Members = Readonly<Record<string, unknown>>

export const ISSUER = 'https://idp.example.com'
export const CLIENT = { client_id: 'mesh', client_secret: 'not-to-be-shown' }
/** The minimal configuration of the specification. */
export const MINIMAL = { issuer: ISSUER, client: CLIENT }

/** Returns a server configuration with this `oidc` object in its default domain. */
export function serverWith(oidc: unknown, settings: Members = { cert: 'mesh.example.com' }): Members {
  return { settings, domains: { '': { title: 'Lab', authStrategies: { oidc } } } }
}

export function readOne(oidc: unknown, options?: ReadOptions, settings?: Members): DomainReading {
  const [reading] = readDomains(serverWith(oidc, settings), options).domains
  if (!reading) throw new Error('no domain was read')
  return reading
}

/** Returns the settings of an `oidc` object. Throws if it has problems. */
export function settingsOf(oidc: unknown, options?: ReadOptions, settings?: Members): DomainSettings {
  const reading = readOne(oidc, options, settings)
  if (!reading.settings) throw new Error(JSON.stringify(reading.problems))
  return reading.settings
}

/** Returns the paths of problems, relative to the `oidc` object. */
export function problemPaths(oidc: unknown, options?: ReadOptions): readonly string[] {
  return readOne(oidc, options).problems.map(({ path }) => path.replace(OIDC, ''))
}

/** Returns codes and paths of warnings, relative to the `oidc` object. */
export function warningsOf(oidc: unknown, options?: ReadOptions): readonly string[] {
  return readOne(oidc, options).warnings.map(({ code, path }) => `${code} ${path.replace(OIDC, '')}`)
}

/**
 * A member of an object: accepted values with the resulting settings, refused values, and other members that it needs.
 */
export type MemberCase = readonly [
  title: string,
  member: string,
  accepted: readonly (readonly [input: unknown, expected: unknown])[],
  refused: readonly unknown[],
  beside?: object | undefined,
]

export const asGiven = (...values: readonly unknown[]) => values.map((value) => [value, value] as const)

export const flagCase = (name: string): MemberCase => [
  `accepts ${name} as a boolean`,
  name,
  asGiven(true, false),
  ['true', 1, null],
]

/** Defines a test for each case. Call it inside a `describe`. */
export function itReadsMembers(
  object: 'client' | 'custom' | 'groups',
  cases: readonly MemberCase[],
  options?: ReadOptions,
): void {
  for (const [title, member, accepted, refused, beside] of cases) {
    const among = (value: unknown) => {
      const members = { ...(object === 'client' ? CLIENT : {}), ...beside, [member]: value }
      return { ...MINIMAL, [object]: members }
    }
    const name = object === 'custom' ? member.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : member
    it(title, () => {
      for (const [input, expected] of accepted) {
        const settings: Members = { ...settingsOf(among(input), options)[object] }
        expect(settings[name], JSON.stringify(input)).to.deep.equal(expected)
        expect(warningsOf(among(input), options)).to.deep.equal([])
      }
      for (const wrong of refused)
        expect(problemPaths(among(wrong), options), String(wrong)).to.deep.equal([`${object}.${member}`])
    })
  }
}

const OIDC = /^domains\[""\]\.authStrategies\.oidc\.?/
