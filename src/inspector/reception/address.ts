import { configInvalid } from '../../errors.ts'

/** @throws {WebhookError} `config_invalid` unless the text is an http or https URL without a user name */
export function toAddress(text: unknown, name = 'the address'): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol))
    throw configInvalid(`${name} must be a URL that begins with http:// or https://`)
  if (url.username !== '' || url.password !== '')
    throw configInvalid(`${name} must not contain a user name or a password`)
  return url
}

/**
 * Returns path and query of a request's URL, which can be a whole URL. Ignores its host: senders choose it, and the
 * user's next click would send a signed request to them.
 */
export const pathOf = (url: string): string => /^(?:\w+:\/\/[^/?#]*)?(\/[^#]*)/.exec(url)?.[1] ?? '/'

/** Remembers the address that the user entered last. */
export interface AddressBook {
  /** The suggested address for a request; empty without a suggestion. */
  suggest(url: string): string
  remember(url: string, address: string): void
}

/** @param base the option `resendTo` */
export function createAddressBook(base: string | undefined): AddressBook {
  let last: string | undefined
  function defaultOf(url: string): string {
    const isOrigin = base !== undefined && /^https?:\/\/[^/?#]+$/i.test(base)
    return isOrigin ? base + pathOf(url) : (base ?? '')
  }
  return {
    suggest: (url) => last ?? defaultOf(url),
    remember(url, address) {
      // Otherwise the default for one request would become the address for requests with other paths.
      last = address === defaultOf(url) ? undefined : address
    },
  }
}
