import { WILDCARD } from '../../payload/events.ts'
import type { FaultStore } from '../faults/faults.ts'
import type { ProductOptions } from '../options.ts'
import { HOSTED_WILDCARD } from './hosted.ts'

/** How answers show the keys of webhooks. */
type Keys = NonNullable<ProductOptions['keys']>

const MASK = '********'

/** A webhook as any product writes it. */
type Shown = Record<string, unknown>

/** Replaces the webhooks in the body of a response: one, a list, or the pages of hosted services. */
function replaceWebhooks(body: object, replace: (webhook: Shown) => Shown): object {
  if (Array.isArray(body)) return body.map((item) => replaceWebhooks(item, replace))
  if (!('webhooks' in body)) return replace(body as Shown)
  return { ...body, webhooks: replaceWebhooks(body.webhooks as object, replace) }
}

/** True for operations whose responses contain webhooks. */
export const showsWebhooks = ({ response }: { response: string }): boolean =>
  /Webhooks?$|Page$/.test(response)

/** Changes the change types in the body of a response that contains webhooks. */
export function withFaults(body: object, { takeAny }: Pick<FaultStore, 'takeAny'>): object {
  const isReversed = takeAny('change_types_reordered') !== undefined
  const isAll = takeAny('wildcard_as_all') !== undefined
  if (!isReversed && !isAll) return body
  return replaceWebhooks(body, (webhook) => {
    const name = 'events' in webhook ? 'events' : 'changeTypes'
    const given = webhook[name] as readonly string[]
    const written = given.map((each) => (isAll && each === WILDCARD ? HOSTED_WILDCARD : each))
    return { ...webhook, [name]: isReversed ? written.reverse() : written }
  })
}

/** Hides the keys in the body of a response that contains webhooks. */
export function hideKeys(body: object, keys: Keys): object {
  if (keys === 'shown') return body
  return replaceWebhooks(body, (webhook) => {
    const name = 'secret' in webhook ? 'secret' : 'signatureKey'
    const { [name]: key, ...others } = webhook
    if (keys === 'masked') return { ...webhook, [name]: key === '' ? '' : MASK }
    return 'globalId' in webhook ? { ...webhook, [name]: '' } : others
  })
}
