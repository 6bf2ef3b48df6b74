import { AdminError } from '../http/errors.ts'
import type { Service } from '../state/services.ts'
import type { Webhook } from '../state/webhook.ts'
import type { Context } from './context.ts'

/**
 * A name is unique within its service.
 *
 * @param id of the webhook that may have the name
 * @throws {AdminError} 400
 */
export function requireFreeName(
  { state }: Context,
  service: Service,
  name: string | undefined,
  id?: Webhook['id'],
): void {
  const holder = name === undefined ? undefined : state.webhooks.named(service, name)
  if (holder && holder.id !== id)
    throw new AdminError(400, 'name is taken by another webhook of this service')
}
