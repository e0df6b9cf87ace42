import { STYLE } from '../../doctor/page-look.ts'
import { prose, time } from '../../doctor/page-texts.ts'
import { escapeMarkup } from '../../routes/markup.ts'
import type { Holdings, Suggestion } from '../moves/holdings.ts'
import { LISTED_DAYS, type RefusedLogin } from '../moves/refused-logins.ts'

/** The address of the page that moves accounts, relative to the status page. */
export const MOVE_QUERY = '?pin=meshcompanion&page=move'

/** A user who probably has an old account, but no account to move it to yet. */
export interface WaitingUser extends Suggestion {
  /** When the login was last refused, or the warning last logged. Milliseconds since 1970. */
  readonly time: number
  readonly reason: RefusedLogin['code'] | 'account-under-other-id'
}

/** The content of the page that moves an account. */
export interface MovePage {
  /** The ids or names that the site admin entered for the two accounts. Undefined if none were entered yet. */
  readonly typed: { readonly from: string; readonly to: string } | undefined
  /** The account that was found for the entered id or name. Undefined if there is none. */
  readonly from: Holdings | undefined
  readonly to: Holdings | undefined
  readonly suggestions: readonly Suggestion[]
  readonly waiting: readonly WaitingUser[]
  /** When the server began to store refused logins, in milliseconds since 1970. */
  readonly waitingSince: number
  /** The form sends this token, which proves that the request came from this page. */
  readonly token: string
  readonly look: 'night' | 'day' | null
  /** The outcome of the move of an account, if the site admin has just requested one. Otherwise null. */
  readonly outcome: 'moved' | 'failed' | null
}

/** Renders the page that moves the rights of one account to another: first a form, then both accounts with a button. */
export function movePage(page: MovePage): string {
  const { typed, from, to, look, outcome } = page
  return [
    `<!doctype html><html lang="en"${look === null ? '' : ` data-look="${look}"`}><head><meta charset="utf-8">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1"><title>Move an account</title>',
    `<style>${STYLE}</style></head><body><main><h1>Move an account</h1>`,
    '<p><a href="?pin=meshcompanion">Back to the status page</a></p>',
    OUTCOMES[outcome ?? 'none'],
    '<p>Moves devices, device groups, user groups, rights on the server and settings from one account to another. ',
    'Passwords, second factors, login tokens, files and shared links stay with the old account. ',
    'User groups that an identity provider mirrors stay too.</p>',
    accountsForm(typed),
    typed && outcome === null ? comparison(page, typed, from, to) : '',
    suggestionList(page.suggestions),
    waitingList(page),
    '</main></body></html>',
  ].join('')
}

const OUTCOMES = {
  none: '',
  moved:
    '<p class="ok"><b>Moved.</b> Open pages already show the change, and the event log has one event about it.</p>',
  failed:
    '<p class="fail"><b>The move is not complete.</b> The authentication log (<code>settings.authLog</code>) has the reason. To complete the move, start it again here, or restart the server.</p>',
} as const

function accountsForm(typed: MovePage['typed']): string {
  const field = (name: 'from' | 'to', label: string) =>
    `<p class="address"><label for="${name}">${label}</label><span class="row"><input id="${name}" name="${name}" required value="${escapeMarkup(typed?.[name] ?? '')}"></span></p>`
  return [
    '<h2>Accounts</h2><form method="get"><input type="hidden" name="pin" value="meshcompanion">',
    '<input type="hidden" name="page" value="move">',
    field('from', 'Old account: its name, such as <code>tom</code>'),
    field('to', 'New account: its id, such as <code>~oidc:1f0c…</code>'),
    '<button>Show both</button></form>',
    '<p class="quiet">An account of single sign-on exists after the first login. Its id is on its page under <i>Users</i>.</p>',
  ].join('')
}

function comparison(
  { token }: MovePage,
  typed: NonNullable<MovePage['typed']>,
  from: Holdings | undefined,
  to: Holdings | undefined,
): string {
  if (!from) return `<p class="fail">This domain has no account <b>${escapeMarkup(typed.from)}</b>.</p>`
  if (!to) return `<p class="fail">This domain has no account <b>${escapeMarkup(typed.to)}</b>.</p>`
  if (from.id === to.id)
    return '<p class="fail">The old and the new account are the same. Name two different accounts.</p>'
  return [
    `<h2>What moves</h2><div class="pair">${side('Old account', from)}${side('New account', to)}</div>`,
    '<form method="post"><input type="hidden" name="action" value="move">',
    `<input type="hidden" name="token" value="${escapeMarkup(token)}">`,
    `<input type="hidden" name="from" value="${escapeMarkup(from.id)}">`,
    `<input type="hidden" name="to" value="${escapeMarkup(to.id)}">`,
    '<p><label><input type="checkbox" name="lock" value="on"> Lock the old account afterwards</label></p>',
    '<button>Move to the new account</button></form>',
  ].join('')
}

function side(title: string, account: Holdings): string {
  const { name, id, email, locked, deviceGroups, userGroups, devices } = account
  const entry = (label: string, markup: string) => `<dt>${label}</dt><dd>${markup}</dd>`
  const listed = (names: readonly string[]) => names.map((text) => escapeMarkup(text)).join('<br>') || 'none'
  return [
    `<section><h3>${title}</h3><dl>`,
    entry('Name', escapeMarkup(name)),
    entry('Id', `<code>${escapeMarkup(id)}</code>`),
    entry('E-mail', escapeMarkup(email ?? 'none')),
    entry('Locked', locked ? 'yes' : 'no'),
    entry('Rights on the server', siteRightsText(account)),
    entry('Device groups', listed(deviceGroups.map((group) => `${group.name} (${rightsText(group.rights)})`))),
    entry('Devices', listed(devices.map((device) => `${device.id} (${rightsText(device.rights)})`))),
    entry('User groups', listed(userGroups.map((group) => group.name))),
    '</dl></section>',
  ].join('')
}

const ALL_RIGHTS = 0xffffffff

function rightsText(rights: number): string {
  return rights === ALL_RIGHTS ? 'all rights' : `rights ${rights}`
}

function siteRightsText({ siteAdmin, siteRights }: Holdings): string {
  if (siteAdmin) return 'site admin'
  return siteRights === 0 ? 'none' : `rights ${siteRights}`
}

function suggestionList(suggestions: readonly Suggestion[]): string {
  if (suggestions.length === 0) return ''
  const items = suggestions.map(({ from, to }) => {
    const query = new URLSearchParams({ pin: 'meshcompanion', page: 'move', from, to }).toString()
    return `<li><a href="?${escapeMarkup(query)}">${escapeMarkup(from)} → ${escapeMarkup(to)}</a></li>`
  })
  return [
    '<h2>Suggestions</h2><p>These accounts have the same verified e-mail address, or the log says that they belong to one user. ',
    'Verify that before you move anything.</p>',
    `<ul>${items.join('')}</ul>`,
  ].join('')
}

const FIRST_LOGIN = 'let the user sign in once. Then the move is among the suggestions above.'

/** What an administrator can do for a {@link WaitingUser}. */
const REMEDIES: Readonly<Record<WaitingUser['reason'], string>> = {
  account_unknown: `The user has no account for single sign-on yet. Set \`newAccounts\` to true, and ${FIRST_LOGIN}`,
  account_limit: `The domain has as many accounts as \`limits.maxUserAccounts\` allows. Raise it, and ${FIRST_LOGIN}`,
  issuer_changed:
    'The account with this id has the same address, but belongs to another issuer. If both issuers have the same users, add the old issuer to `custom.previous_issuers`. No move is needed.',
  'account-under-other-id': `The old account has this user's \`sub\` as its id. Write \`"uuid": "sub"\` into \`custom.claims\` to keep it. Or set \`newAccounts\` to true, and ${FIRST_LOGIN}`,
}

function waitingList({ waiting, waitingSince }: MovePage): string {
  const items = waiting.map((user) => {
    const accounts = [...new Set([user.from, user.to])].map((id) => escapeMarkup(id)).join(' → ')
    return `<li>${accounts} <span class="quiet">(${time(user.time)})</span><br>${prose(REMEDIES[user.reason])}</li>`
  })
  const list = items.length === 0 ? '<p>None.</p>' : `<ul>${items.join('')}</ul>`
  return [
    '<h2>Users without an account to move to</h2><p>These users were refused at their login, but an old account has the same verified e-mail address, or their <code>sub</code>. ',
    `Verify that it is the same user. Listed since this server started, ${time(waitingSince)}, for ${LISTED_DAYS} days.</p>${list}`,
  ].join('')
}
