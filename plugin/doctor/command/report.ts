import { ROUTE_NAMES } from '../../config/domains/route-names.ts'
import { quoted } from '../../config/json/json-path.ts'
import type { Problem } from '../../config/problem.ts'
import type { DomainReading } from '../../config/read.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { explainGroups } from '../../login/groups/explain-groups.ts'
import { idpAddresses } from '../../mount/status/idp-addresses.ts'

/** Lists the mistakes in one domain's configuration. */
export function domainReport({ key, title, problems, warnings }: DomainReading): string {
  const name = `domain ${quoted(key)}${title === null ? '' : ` (${quoted(title)})`}`
  return findingsReport(name, problems, warnings)
}

/** Lists the mistakes in one part of the configuration. */
export function findingsReport(name: string, problems: readonly Problem[], warnings: readonly Problem[]): string {
  const verdict = `${count(problems.length, 'error')}, ${count(warnings.length, 'warning')}`
  return `${name}: ${verdict}\n${lines('error', problems)}${lines('warning', warnings)}`
}

/** Prints each error or warning on a line of its own. */
export function lines(level: 'error' | 'warning', problems: readonly Problem[]): string {
  return problems.map(({ path, reason, remedy }) => `  ${level}: ${path}: ${reason}. ${remedy}\n`).join('')
}

function count(number: number, noun: string): string {
  return `${number === 0 ? 'no' : number} ${noun}${number === 1 ? '' : 's'}`
}

/** Explains what the group rules of a domain decide. */
export function groupsReport(groups: readonly string[], settings: DomainSettings | null): string {
  const explanation = settings
    ? explainGroups(groups, settings.groups)
    : ['The group rules can only be explained once the errors are corrected.']
  return explanation.map((line) => `  ${line}\n`).join('')
}

/** Lists the addresses to enter at the IdP. */
export function addressesReport(key: string, settings: DomainSettings, basePath: string): string {
  const { redirect, postLogout, backchannelLogout, frontchannelLogout, keySet } = idpAddresses(settings, {
    backchannelLogout: basePath + ROUTE_NAMES.backchannelLogout,
    frontchannelLogout: basePath + ROUTE_NAMES.frontchannelLogout,
    jwks: basePath + ROUTE_NAMES.jwks,
  })
  const rows = [
    `redirect URI: ${redirect}`,
    ...(postLogout === null ? [] : [`post-logout redirect URI: ${postLogout}`]),
    `back-channel logout URI: ${backchannelLogout}`,
    `front-channel logout URI: ${frontchannelLogout}`,
    ...(keySet === null ? [] : [`key set (JWKS) URI: ${keySet}`]),
  ]
  return `domain ${quoted(key)}, to enter at the IdP:\n${rows.map((row) => `  ${row}\n`).join('')}`
}
