import type { Problem } from '../config/problem.ts'
import type { GroupRights } from '../config/settings.ts'
import type { DiscoveryStatus } from '../mount/status/discovery-watch.ts'
import type { DomainStatus } from '../mount/status/domain-status.ts'
import type { IdpAddresses } from '../mount/status/idp-addresses.ts'
import type { LoginWarning, Refusal } from '../mount/status/login-history.ts'
import { escapeMarkup } from '../routes/markup.ts'
import type { Verdict } from './live/verdict.ts'
import { type LiveCheck, PAUSE_MS } from './live-checks.ts'
import { SCRIPT, STYLE } from './page-look.ts'
import { prose, time } from './page-texts.ts'

export interface StatusPage {
  /** The state of the domain's single sign-on. Undefined if the domain has none. */
  readonly status: DomainStatus | undefined
  /** Notes about the server for the administrator, one sentence each. For example, that its version is untested. */
  readonly notes: readonly string[]
  readonly check: LiveCheck
  /**
   * The form sends this token to the server. The token proves that the request for a live check came from this page.
   */
  readonly token: string
  /** The colour scheme that the server enforces, or null if the user chooses. */
  readonly look: 'night' | 'day' | null
  /** The address of the page for moving accounts. */
  readonly moveHref: string
  /** The current time in milliseconds since 1970. */
  readonly now: number
}

/**
 * Renders the page that shows an administrator the state of a domain's single sign-on. The page contains no secrets.
 */
export function statusPage({ status, notes, check, token, look, moveHref, now }: StatusPage): string {
  const place = status?.domainKey ? ` of the domain <code>${escapeMarkup(status.domainKey)}</code>` : ''
  const isRunning = check.kind === 'running'
  // Reload the page until the check has ended. A reload does not start another check, because the server answered the
  // button's request with a redirect.
  const reload = isRunning ? ' data-reload' : ''
  return [
    `<!doctype html><html lang="en"${look === null ? '' : ` data-look="${look}"`}${reload}><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Single sign-on</title>',
    `<style>${STYLE}</style><script>${SCRIPT}</script></head><body><main><h1>Single sign-on${place}</h1>`,
    ...notes.map((note) => `<p class="warn">${escapeMarkup(note)}</p>`),
    `<p><a href="${escapeMarkup(moveHref)}">Move what one account has to another</a></p>`,
    status ? sections(status, check, token, now) : '<p>This domain has no single sign-on by this plugin.</p>',
    '</main></body></html>',
  ].join('')
}

function sections(status: DomainStatus, check: LiveCheck, token: string, now: number): string {
  const { addresses, configured, issuer, discovery, groupRights, keySetAgeMs, lastLogin, refusals } = status
  const { problems, warnings, loginWarnings, uncheckedSessions } = status
  return [
    configured ? '' : '<p class="fail">The configuration has errors, so every login is refused.</p>',
    configurationSection(problems, warnings),
    '<dl>',
    configured ? entry('Issuer', issuer === null ? 'unknown' : `<code>${escapeMarkup(issuer)}</code>`) : '',
    discovery ? entry('Discovery', discoveryText(discovery)) : '',
    configured ? entry('Key set', keySetAgeMs === null ? 'not needed yet' : `${duration(keySetAgeMs)} old`) : '',
    entry('Last login', lastLogin === null ? 'none yet' : time(lastLogin)),
    uncheckedSessions > 0 ? entry('Sessions never checked', uncheckedText(uncheckedSessions)) : '',
    groupRights ? entry('Rights by groups', groupRights.map(rightsText).join('<br>') || 'none') : '',
    '</dl><p class="quiet">Logins and refusals are counted since the server started.</p>',
    addresses ? addressSection(addresses) : '',
    configured ? checkSection(check, token) : '',
    loginWarningSection(loginWarnings, now),
    refusalSection(refusals, now),
  ].join('')
}

function configurationSection(problems: readonly Problem[], warnings: readonly Problem[]): string {
  const items = [
    ...problems.map((problem) => findingItem('fail', problem)),
    ...warnings.map((warning) => findingItem('warn', warning)),
  ]
  return items.length === 0 ? '' : `<h2>Configuration</h2><ul>${items.join('')}</ul>`
}

function findingItem(level: 'warn' | 'fail', { path, reason, remedy }: Problem): string {
  const text = `<code>${escapeMarkup(path)}</code> ${prose(`${reason}. ${remedy}`)}`
  return `<li><span class="level ${level}">${level === 'fail' ? 'error' : 'warning'}</span>${text}</li>`
}

function rightsText({ group, rights }: GroupRights): string {
  return `<b>${escapeMarkup(group)}</b>: ${escapeMarkup(rights.join(', ') || 'none')}`
}

function uncheckedText(count: number): string {
  const remedy =
    'these sessions have no refresh token and cannot be introspected; see `session-unchecked` in the authentication log'
  return `<span class="fail">${count}</span>: ${prose(remedy)}`
}

function discoveryText({ discoveredSince, failure }: DiscoveryStatus): string {
  const good = discoveredSince === null ? 'not discovered' : `discovered, since ${time(discoveredSince)}`
  if (!failure) return good
  const { since, causeCode, remedy } = failure
  const code = causeCode === null ? '' : ` <code>${escapeMarkup(causeCode)}</code>`
  return `${good}. <span class="fail">Fails since ${time(since)}${code}.</span> ${prose(remedy)}`
}

function addressSection({ redirect, postLogout, backchannelLogout, frontchannelLogout, keySet }: IdpAddresses): string {
  return [
    '<h2>To enter at the identity provider</h2>',
    address('redirect', 'Redirect address', redirect),
    address('post-logout', 'Post-logout redirect address', postLogout),
    address('backchannel', 'Back-channel logout address', backchannelLogout),
    address('frontchannel', 'Front-channel logout address', frontchannelLogout),
    address('key-set', 'Key set address (JWKS)', keySet),
  ].join('')
}

function address(id: string, label: string, value: string | null): string {
  if (value === null) return `<p class="address"><b>${label}</b><br>none</p>`
  return [
    `<p class="address"><label for="${id}">${label}</label><span class="row">`,
    `<input id="${id}" readonly value="${escapeMarkup(value)}">`,
    `<button type="button" data-copy="${id}" hidden>Copy</button></span></p>`,
  ].join('')
}

function checkSection(check: LiveCheck, token: string): string {
  const isRunning = check.kind === 'running'
  return [
    '<h2>Live check</h2><p>Checks everything at the identity provider that a login depends on, without signing a user in. The check leaves only lines in the log of the identity provider.</p>',
    `<form method="post"><input type="hidden" name="token" value="${escapeMarkup(token)}">`,
    `<button${isRunning ? ' disabled' : ''}>${isRunning ? 'Asking …' : 'Ask now'}</button></form>`,
    isRunning ? '<noscript><p><a href="">See whether it has ended</a></p></noscript>' : '',
    check.kind === 'done' ? outcome(check) : '',
  ].join('')
}

function outcome({ endedAt: at, verdicts }: Extract<LiveCheck, { kind: 'done' }>): string {
  const intro = `<p>Asked ${time(at)}. The next check is possible after ${duration(PAUSE_MS)}.</p>`
  if (verdicts.length === 0)
    return `${intro}<p class="fail">No question could be asked. See the authentication log.</p>`
  return `${intro}<ul>${verdicts.map(verdictItem).join('')}</ul>`
}

function verdictItem({ question, verdict, text }: Verdict): string {
  return `<li><span class="verdict ${verdict}">${verdict}</span><b>${question}</b>: ${prose(text)}</li>`
}

function loginWarningSection(warnings: readonly LoginWarning[], now: number): string {
  if (warnings.length === 0) return ''
  return `<h2>Warnings about logins</h2><ul>${warnings.map((warning) => warningItem(warning, now)).join('')}</ul>`
}

function warningItem(
  { time: loggedAt, times, event, account, otherAccount, message }: LoginWarning,
  now: number,
): string {
  const otherText = otherAccount === null ? '' : `, other account <b>${escapeMarkup(otherAccount)}</b>`
  return [
    `<li>${time(loggedAt)} <span class="quiet">(${duration(now - loggedAt)} ago${repetitions(times)})</span>: <code>${escapeMarkup(event)}</code>`,
    `${accountText(account)}${otherText}<br>${prose(message)}</li>`,
  ].join('')
}

function repetitions(times: number): string {
  return times === 1 ? '' : `, ${times} times`
}

function accountText(account: string | null): string {
  return account === null ? '' : `, account <b>${escapeMarkup(account)}</b>`
}

function refusalSection(refusals: readonly Refusal[], now: number): string {
  const list = refusals.map((refusal) => refusalItem(refusal, now)).join('')
  if (list === '') return '<h2>Last refusals</h2><p>None.</p>'
  // Do not show the values of log fields such as `claimNames`, because they may be personal data. Administrators find
  // these values in the authentication log.
  const elsewhere =
    '<p class="quiet">Some texts name a field, such as <code>reason</code> or <code>claimNames</code>. Its value is only in the authentication log (<code>settings.authLog</code>).</p>'
  return `<h2>Last refusals</h2>${elsewhere}<ul>${list}</ul>`
}

function refusalItem({ time: loggedAt, times, code, event, account, remedy }: Refusal, now: number): string {
  return [
    `<li>${time(loggedAt)} <span class="quiet">(${duration(now - loggedAt)} ago${repetitions(times)})</span>: <code>${escapeMarkup(code)}</code>`,
    ` <span class="quiet">${escapeMarkup(event)}</span>${accountText(account)}<br>${prose(remedy)}</li>`,
  ].join('')
}

function entry(name: string, markup: string): string {
  return `<dt>${name}</dt><dd>${markup}</dd>`
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
