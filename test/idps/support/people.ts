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

/** An administrator of devices. */
export const ALICE: Person = {
  username: 'alice',
  password: 'Alice-has-1-password',
  email: 'alice@example.org',
  givenName: 'Alice',
  familyName: 'Anders',
  groups: ['mesh-users', 'mesh-admins'],
}

export const BOB: Person = {
  username: 'bob',
  password: 'Bob-has-1-password',
  email: 'bob@example.org',
  givenName: 'Bob',
  familyName: 'Björk',
  groups: ['mesh-users'],
}

/** In no group. */
export const CAROL: Person = {
  username: 'carol',
  password: 'Carol-has-1-password',
  email: 'carol@example.org',
  givenName: 'Carol',
  familyName: 'Clark',
  groups: [],
}

/** Everybody that a provider knows after its `reset`. All groups that they are in exist there. */
export const PEOPLE: readonly Person[] = [ALICE, BOB, CAROL]
