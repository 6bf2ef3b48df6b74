import { createPayload } from '../../testing/index.ts'
import type { ServiceEvent } from '../state/events.ts'
import type { Webhook } from '../state/webhook.ts'

/** The payload of a portal: one entry for each event. The dialect of the mock does not change it. */
export function toPortalPayload({ id, name }: Readonly<Webhook>, events: readonly ServiceEvent[]): object {
  const [first, ...others] = events.map(({ operation, changeType, when }) =>
    createPayload(
      { changeType: operation?.operation ?? changeType, when },
      { dialect: 'organization', id, name, source: operation?.source, itemId: operation?.id },
    ),
  ) as { info: { when: number }; events: object[] }[]
  if (!first) return {}
  return {
    info: {
      ...first.info,
      when: others.reduce((when, { info }) => Math.max(when, info.when), first.info.when),
    },
    events: [first, ...others].flatMap((payload) => payload.events),
  }
}
