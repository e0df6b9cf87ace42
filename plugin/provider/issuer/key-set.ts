import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose'
import { LoginError } from '../../errors.ts'
import type { Fetch } from '../http/guarded-fetch.ts'

/** The public keys of an IdP. */
export interface KeySet {
  /**
   * As the IdP publishes them now: a key that it rotated in works at once, and one that it withdrew stops working at once. Asked for at
   * the same time, they are fetched once.
   *
   * @throws LoginError `provider_unreachable` when there is no usable key set
   */
  current(jwksUri: string): Promise<JWTVerifyGetKey>
}

/** @param fetch guarded */
export function createKeySet(fetch: Fetch): KeySet {
  const underWay = new Map<string, Promise<JWTVerifyGetKey>>()

  async function load(jwksUri: string): Promise<JWTVerifyGetKey> {
    try {
      const headers = { accept: 'application/json, application/jwk-set+json' }
      const response = await fetch(jwksUri, { method: 'GET', headers, body: undefined, redirect: 'manual' })
      if (response.status !== 200) throw new Error(`The key set was answered with ${response.status}.`)
      // Judged as a whole in there, and key by key when one is needed.
      return createLocalJWKSet((await response.json()) as JSONWebKeySet)
    } catch (error) {
      throw new LoginError('provider_unreachable', { cause: error, details: { endpoint: 'jwks_uri' } })
    }
  }

  return {
    current(jwksUri) {
      const shared = underWay.get(jwksUri)
      if (shared) return shared
      const loading = load(jwksUri).finally(() => underWay.delete(jwksUri))
      underWay.set(jwksUri, loading)
      return loading
    },
  }
}
