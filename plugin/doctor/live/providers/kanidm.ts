import type { DomainSettings, GroupSettings } from '../../../config/settings.ts'
import { printableText } from '../../../log.ts'
import { UUID } from '../../../login/groups/memberships.ts'
import {
  fail,
  type KnownProvider,
  type Metadata,
  type Mistake,
  otherScopes,
  publishedAddress,
  publishedList,
  warn,
} from './known-provider.ts'

const ISSUER_PATH = /^\/oauth2\/openid(?:\/([^/]+))?\/?$/

/**
 * Kanidm. It is self-hosted, so it is recognized by its paths.
 *
 * @see https://kanidm.github.io/kanidm/stable/integrations/oauth2.html
 */
export const KANIDM: KnownProvider = {
  name: 'Kanidm',
  isAt: ({ issuer, metadata }) =>
    ISSUER_PATH.test(issuer.pathname) ||
    publishedAddress(metadata, 'authorization_endpoint')?.pathname === '/ui/oauth2',
  mistakes: ({ issuer, metadata, settings }) => [
    otherClient(issuer, settings),
    otherAlgorithm(settings, metadata),
    unmappedScopes(settings, metadata),
    incompleteNames(settings),
    doubledGroups(settings),
  ],
}

function otherClient(issuer: URL, { client }: DomainSettings): Mistake | false {
  const [, name] = ISSUER_PATH.exec(issuer.pathname) ?? []
  if (name === undefined || decoded(name).toLowerCase() !== client.client_id.toLowerCase()) {
    const address = `${issuer.origin}/oauth2/openid/${encodeURIComponent(client.client_id)}`
    return fail(
      `Each client of Kanidm has its own issuer, which ends in the client's name. Write "${address}" in \`issuer\`, or correct \`client.client_id\`.`,
    )
  }
  return false
}

function otherAlgorithm({ client }: DomainSettings, metadata: Metadata | undefined): Mistake | false {
  const published = publishedList(metadata, 'id_token_signing_alg_values_supported') ?? []
  const algorithm = published.map(printableText)[0]
  return (
    algorithm !== undefined &&
    !published.includes(client.id_token_signed_response_alg) &&
    fail(
      `Kanidm signs the ID tokens of this client with ${algorithm} only. Set \`client.id_token_signed_response_alg\` to "${algorithm}".`,
    )
  )
}

/** Reports requested scopes that the client has no scope map for. Kanidm publishes the mapped scopes. */
function unmappedScopes(settings: DomainSettings, metadata: Metadata | undefined): Mistake | false {
  const mapped = publishedList(metadata, 'scopes_supported')
  const unmapped = mapped ? otherScopes(settings, mapped) : []
  const { client, custom } = settings
  return (
    unmapped.length > 0 &&
    fail(
      `No scope map of the client has ${unmapped.join(' ')}, and Kanidm refuses logins with unmapped scopes on a page of its own. Run: kanidm system oauth2 update-scope-map ${client.client_id} <group of the users> ${custom.scope.join(' ')}`,
    )
  )
}

/**
 * Reports group names in another form than Kanidm sends. The requested scopes decide whether it sends a group's name,
 * its name with the domain, or both.
 */
function incompleteNames({ groups, custom }: DomainSettings): Mistake | false {
  const isShort = custom.scope.includes('groups_name')
  const isLong = custom.scope.includes('groups') || custom.scope.includes('groups_spn')
  if (!groups || (groups.claim ?? 'groups') !== 'groups' || (!isShort && !isLong)) return false
  const wrong = namesIn(groups).filter((name) => (name.includes('@') ? !isLong : !isShort && !UUID.test(name)))
  if (wrong.length === 0) return false
  const form = isShort ? 'names without a domain' : 'names with the domain, such as `mesh-users@<domain>`'
  return warn(`Kanidm sends ${form}, so these names in \`groups\` match no group: ${wrong.join(', ')}.`)
}

function doubledGroups({ groups, custom }: DomainSettings): Mistake | false {
  return (
    groups?.sync === 'all' &&
    custom.scope.includes('groups') &&
    warn(
      'With the scope `groups`, Kanidm sends the id and the name of each group, so `sync` mirrors each group twice. Set `groups.scope` to "groups_spn", and map that scope.',
    )
  )
}

function namesIn({ required, siteadmin, rights, sync }: GroupSettings): readonly string[] {
  return [
    ...(required ?? []),
    ...(siteadmin ?? []),
    ...(rights ?? []).map(({ group }) => group),
    ...(Array.isArray(sync) ? sync : []),
  ]
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
