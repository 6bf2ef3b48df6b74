import type { Mock } from '../../service.ts'
import { servicePath } from '../../state/services.ts'

/** Maximum number of webhooks or services that a panel or a list of choices shows. */
export const MAX_LISTED = 500

/** Name and service of a webhook; its id if it does not exist. */
export function webhookName({ state }: Mock, id: string): string {
  const webhook = state.webhooks.get(id)
  return webhook ? `${webhook.name} of ${servicePath(webhook)}` : id
}

export const webhookChoices = (mock: Mock): [id: string, name: string][] =>
  mock.state.webhooks
    .list()
    .slice(0, MAX_LISTED)
    .map(({ id }) => [id, webhookName(mock, id)])
