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

export interface StatusPage {
  /** Undefined: the domain has no single sign-on. */
  readonly status: DomainStatus | undefined
  /** What is to be known of the server, a sentence each. */
  readonly notes: readonly string[]
  readonly check: LiveCheck
  /** What the button of the live check proves that it was pressed on this page with. */
  readonly token: string
  /** Which look the server settles; null: the person does. */
  readonly look: 'night' | 'day' | null
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The page on which an administrator sees how single sign-on of a domain is. No secret is in it. */
export function statusPage({ status, notes, check, token, look, now }: StatusPage): string {
  const place = status?.domainKey ? ` of the domain <code>${escapeMarkup(status.domainKey)}</code>` : ''
  const isRunning = check.kind === 'running'
  // Until the check has ended. The button's own request was answered by a redirect, so nothing is sent twice.
  const reload = isRunning ? ' data-reload' : ''
  return [
    `<!doctype html><html lang="en"${look === null ? '' : ` data-look="${look}"`}${reload}><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Single sign-on</title>',
    `<style>${STYLE}</style><script>${SCRIPT}</script></head><body><main><h1>Single sign-on${place}</h1>`,
    ...notes.map((note) => `<p class="warn">${escapeMarkup(note)}</p>`),
    status ? sections(status, check, token, now) : '<p>This domain has no single sign-on by this plugin.</p>',
    '</main></body></html>',
  ].join('')
}

function sections(status: DomainStatus, check: LiveCheck, token: string, now: number): string {
  const { addresses, configured, issuer, discovery, groupRights, keySetAgeMs, lastLogin, refusals } = status
  const { problems, warnings, loginWarnings, uncheckedSessions } = status
  return [
    configured ? '' : '<p class="fail">The configuration has errors, and every login is refused.</p>',
    configurationSection(problems, warnings),
    '<dl>',
    configured ? entry('Issuer', issuer === null ? 'unknown' : `<code>${escapeMarkup(issuer)}</code>`) : '',
    discovery ? entry('Discovery', discoveryText(discovery)) : '',
    configured ? entry('Key set', keySetAgeMs === null ? 'not needed yet' : `${duration(keySetAgeMs)} old`) : '',
    entry('Last login', lastLogin === null ? 'nobody yet' : time(lastLogin)),
    uncheckedSessions > 0 ? entry('Sessions never checked', uncheckedText(uncheckedSessions)) : '',
    groupRights ? entry('Rights by groups', groupRights.map(rightsText).join('<br>') || 'none') : '',
    '</dl><p class="quiet">Logins and refusals count since this server was started.</p>',
    addresses ? addressSection(addresses) : '',
    configured ? checkSection(check, token) : '',
    loginWarningSection(loginWarnings, now),
    refusalSection(refusals, now),
  ].join('')
}

function configurationSection(problems: readonly Problem[], warnings: readonly Problem[]): string {
  const items = [...problems.map((one) => findingItem('fail', one)), ...warnings.map((one) => findingItem('warn', one))]
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
    'they have no refresh token and cannot be introspected; see `session-unchecked` in the authentication log'
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
    '<h2>Live check</h2><p>Asks the identity provider what a login depends on, with nobody signed in. It leaves nothing behind but lines in the log there.</p>',
    `<form method="post"><input type="hidden" name="token" value="${escapeMarkup(token)}">`,
    `<button${isRunning ? ' disabled' : ''}>${isRunning ? 'Asking …' : 'Ask now'}</button></form>`,
    isRunning ? '<noscript><p><a href="">Look whether it has ended</a></p></noscript>' : '',
    check.kind === 'done' ? outcome(check) : '',
  ].join('')
}

function outcome({ at, verdicts }: Extract<LiveCheck, { kind: 'done' }>): string {
  const told = `<p>Asked ${time(at)}. Again after ${duration(PAUSE_MS)} at the earliest.</p>`
  if (verdicts.length === 0) return `${told}<p class="fail">No question could be asked. See the authentication log.</p>`
  return `${told}<ul>${verdicts.map(verdictItem).join('')}</ul>`
}

function verdictItem({ question, verdict, text }: Verdict): string {
  return `<li><span class="verdict ${verdict}">${verdict}</span><b>${question}</b>: ${prose(text)}</li>`
}

function loginWarningSection(warnings: readonly LoginWarning[], now: number): string {
  if (warnings.length === 0) return ''
  return `<h2>Warnings about logins</h2><ul>${warnings.map((warning) => warningItem(warning, now)).join('')}</ul>`
}

function warningItem({ time: at, times, event, account, otherAccount, message }: LoginWarning, now: number): string {
  const other = otherAccount === null ? '' : `, other account <b>${escapeMarkup(otherAccount)}</b>`
  return [
    `<li>${time(at)} <span class="quiet">(${duration(now - at)} ago${often(times)})</span>: <code>${escapeMarkup(event)}</code>`,
    `${whose(account)}${other}<br>${prose(message)}</li>`,
  ].join('')
}

function often(times: number): string {
  return times === 1 ? '' : `, ${times} times`
}

function whose(account: string | null): string {
  return account === null ? '' : `, account <b>${escapeMarkup(account)}</b>`
}

function refusalSection(refusals: readonly Refusal[], now: number): string {
  const list = refusals.map((refusal) => refusalItem(refusal, now)).join('')
  if (list === '') return '<h2>Last refusals</h2><p>None.</p>'
  // Their values may be of persons: they are there, and not here.
  const elsewhere =
    '<p class="quiet">Members of the log line that a text names, such as <code>reason</code> or <code>claimNames</code>, are in the authentication log (<code>settings.authLog</code>) alone.</p>'
  return `<h2>Last refusals</h2>${elsewhere}<ul>${list}</ul>`
}

function refusalItem({ time: at, times, code, event, account, remedy }: Refusal, now: number): string {
  return [
    `<li>${time(at)} <span class="quiet">(${duration(now - at)} ago${often(times)})</span>: <code>${escapeMarkup(code)}</code>`,
    ` <span class="quiet">${escapeMarkup(event)}</span>${whose(account)}<br>${prose(remedy)}</li>`,
  ].join('')
}

function entry(name: string, markup: string): string {
  return `<dt>${name}</dt><dd>${markup}</dd>`
}

/** Text in which backticks mark what is typed. */
function prose(text: string): string {
  return escapeMarkup(text).replace(/`([^`]+)`/g, '<code>$1</code>')
}

/** In UTC, until the page's script puts it into words of the reader's place. */
function time(ms: number): string {
  const iso = new Date(ms).toISOString()
  return `<time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')} UTC</time>`
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
