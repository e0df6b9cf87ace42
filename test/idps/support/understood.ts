import type { ClientRegistration } from './real-idp.ts'

/** @throws Error that names the members of a registration that an adapter cannot set, so that no case passes by mistake */
export function refuseOthers(client: ClientRegistration, understood: readonly (keyof ClientRegistration)[]): void {
  const names: readonly string[] = understood
  const others = Object.entries(client).flatMap(([name, value]) =>
    names.includes(name) || value === undefined || value === false ? [] : [name],
  )
  if (others.length > 0) throw new Error(`a client here cannot have ${others.join(', ')}`)
}
