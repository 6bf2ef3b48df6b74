import type { ProductOptions } from '../options.ts'

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
