import type { DomainSettings } from '../../config/settings.ts'

/** Whether answers come as a form that the IdP's page posts: an ID token in an address would end up in logs and histories. */
export function answersByPost(settings: DomainSettings): boolean {
  return settings.client.response_types[0] !== 'code'
}
