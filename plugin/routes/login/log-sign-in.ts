import type { Request } from 'express'
import { clientAddressOf } from '../../host/auth-log.ts'
import type { Host, Profile } from '../../host/port.ts'
import type { SignInResult } from '../../login/sign-in.ts'

/** Writes a successful login to the authentication log. */
export function logSignIn(host: Host, req: Request, domain: string, { id: user }: Profile, result: SignInResult): void {
  const { created, siteAdmin, rights, joined, left, tooMany } = result
  if (tooMany !== undefined) {
    host.authLog({
      level: 'warn',
      event: 'groups-not-mirrored',
      message:
        'A user is in more than 1,000 groups to mirror, so the plugin added the user to no further group. Name the groups that you need in `groups.sync.filter`.',
      domain,
      fields: { user, groups: tooMany },
    })
  }
  host.authLog({
    level: 'info',
    event: 'login',
    message: created ? 'Signed in for the first time; the account was created.' : 'Signed in.',
    domain,
    fields: {
      user,
      ...clientAddressOf(host, req),
      ...(siteAdmin === 'keep' ? {} : { siteAdmin }),
      ...(rights === undefined ? {} : { rights }),
      ...(joined.length > 0 ? { joined } : {}),
      ...(left.length > 0 ? { left } : {}),
    },
  })
}
