/** Somebody who can sign in at a provider. */
export interface Person {
  readonly username: string
  readonly password: string
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** Names of groups, without what a provider makes of them. */
  readonly groups: readonly string[]
}

/** As the `name` claim has it. */
export const fullName = ({ givenName, familyName }: Person): string => `${givenName} ${familyName}`

export function somebody(givenName: string, familyName: string, groups: readonly string[] = []): Person {
  const username = givenName.toLowerCase()
  const [password, email] = [`${givenName}-has-1-password`, `${username}@example.org`]
  return { username, password, email, givenName, familyName, groups }
}

/** An administrator of devices. */
export const ALICE = somebody('Alice', 'Anders', ['mesh-users', 'mesh-admins'])
export const BOB = somebody('Bob', 'Björk', ['mesh-users'])
/** In no group. */
export const CAROL = somebody('Carol', 'Clark')

/** Everybody that a provider knows after its `reset`. All groups that they are in exist there. */
export const PEOPLE: readonly Person[] = [ALICE, BOB, CAROL]
