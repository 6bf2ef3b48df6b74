/** Fields of a form, decoded. */
export type Fields = readonly (readonly [name: string, value: string])[]

/** Percent-encodes text. Lone surrogates are replaced first, because encodeURIComponent throws for them. */
const encode = (text: string): string => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))

const alsoEncode = (form: string, characters: RegExp): string =>
  form.replace(characters, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)

const spacesToPlus = (form: string): string => form.replaceAll('%20', '+')

const strict = (form: string): string => alsoEncode(form, /[!'()*]/g)

/** Form encoders write a space and the characters `! ' ( ) * ~` in different ways. */
const ENCODERS: readonly ((form: string) => string)[] = [
  (form) => form,
  // `$.param` in jQuery.
  spacesToPlus,
  // RFC 3986: `quote` in Python, `http_build_query` in PHP with PHP_QUERY_RFC3986, curl, qs.
  strict,
  // `urlencode` in Python, `url.Values` in Go, `CGI.escape` in Ruby, `FormUrlEncodedContent` in .NET.
  (form) => spacesToPlus(strict(form)),
  // WHATWG URL: URLSearchParams, `URLEncoder` in Java, `URI.encode_www_form` in Ruby.
  (form) => spacesToPlus(alsoEncode(form, /[!'()~]/g)),
  // `http_build_query` and `urlencode` in PHP.
  (form) => spacesToPlus(alsoEncode(form, /[!'()*~]/g)),
  // `WebUtility.UrlEncode` in .NET.
  (form) => spacesToPlus(alsoEncode(form, /['~]/g)),
  // qs with the format RFC1738.
  (form) => spacesToPlus(alsoEncode(form, /[!'*]/g)),
  // `quote` in Python without `safe`.
  (form) => strict(form).replaceAll('%2F', '/'),
  // `HttpUtility.UrlEncode` in .NET.
  (form) => spacesToPlus(toLowerHex(alsoEncode(form, /['~]/g))),
  // Lower-case hex in other encoders.
  toLowerHex,
  (form) => toLowerHex(strict(form)),
  (form) => spacesToPlus(toLowerHex(strict(form))),
  (form) => spacesToPlus(toLowerHex(alsoEncode(form, /[!'()*~]/g))),
]

/** Encoders that are tested for large forms too. */
const COMMON_ENCODERS = ENCODERS.slice(0, 6)

function toLowerHex(form: string): string {
  return form.replace(/%(?:.[A-F]|[A-F].)/g, (code) => code.toLowerCase())
}

/** Writes fields in the notations of all encoders. */
export function* writeForms(fields: Fields, isSmall: boolean): Generator<string> {
  const form = fields.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  const written = new Set<string>()
  for (const encodeLike of isSmall ? ENCODERS : COMMON_ENCODERS) {
    const encoded = encodeLike(form)
    if (!written.has(encoded)) yield encoded
    written.add(encoded)
  }
}
