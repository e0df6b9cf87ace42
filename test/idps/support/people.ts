/** A user of a provider. */
export interface Person {
  readonly username: string
  readonly password: string
  readonly email: string
  readonly givenName: string
  readonly familyName: string
  /** Names of groups, without any prefix that a provider adds. */
  readonly groups: readonly string[]
}

/** Returns the value of the `name` claim. */
export const fullName = ({ givenName, familyName }: Person): string => `${givenName} ${familyName}`

export function createPerson(givenName: string, familyName: string, groups: readonly string[] = []): Person {
  const username = givenName.toLowerCase()
  const [password, email] = [`${givenName}-has-1-password`, `${username}@example.org`]
  return { username, password, email, givenName, familyName, groups }
}

/** An administrator. */
export const ALICE = createPerson('Alice', 'Anders', ['mesh-users', 'mesh-admins'])
export const BOB = createPerson('Bob', 'Björk', ['mesh-users'])
/** A user without groups. */
export const CAROL = createPerson('Carol', 'Clark')

/** All users that a provider knows after its `reset`. All their groups exist there. */
export const PEOPLE: readonly Person[] = [ALICE, BOB, CAROL]
