/**
 * Notations and places of a signature, which explain reads with regular expressions: how the evidence describes it, or
 * how the value of the header looks.
 */
export const IN_EVIDENCE: readonly string[] = [
  'in another encoding, or with other characters around it',
  'is only a part of the signature',
  'in hex, but its leading zeros are missing',
  'in hex, but bytes above 7f are written as negative numbers',
  'in hex, but as a negative number',
  'in decimal digits',
  'has several values, and one of them is the signature',
  'is the signature after each space in it is replaced by a plus sign',
  'is the signature after percent-decoding it more than once',
  'authorization contains the signature behind other words',
  'contains the signature, in a cookie',
  'as a part of the user name and password',
  'x-signature contains the signature.',
  'The query of the URL contains the signature',
  'The JSON of the body contains the signature',
  'contains the signature of the field before it',
]

export const IN_VALUE: Readonly<Record<string, RegExp>> = {
  'hex with separators': /^[\da-f]{2}([ :-][\da-f]{2}){31}$/i,
  'hex with 0x before each byte': /^.{0,8}0x[\da-f]{2}, ?0x/i,
  'hex with escapes': /^"?(\\x|%|\\u00)[\da-f]{2}(\\x|%|\\u00)/i,
  base64url: /^[\w-]*[_-][\w-]*=?$/,
  base32: /^[a-z2-7]{52}(?:=*)$/i,
  'numbers with commas': /^\[?\d+,/,
  'signed numbers': /^\[?(\d+, ?)*-\d+, ?/,
  'numbers with spaces': /^\[?\d+ \d+/,
  'an object of numbers': /^\{"0":/,
  'bytes of a digest': /^(?=.*[\u0080-\u00ff])[\0-\u00ff]{32}$/s,
  'bytes of a digest in UTF-8': /^(?=.*[\u00c2\u00c3][\u0080-\u00bf])[\0-\u00ff]{40,60}$/s,
  'base64 in lines': /^[\w+/]+={0,2}\n[\w+/=]+/,
  'a literal of bytes': /^\w*=?b?["'].*\\x/,
  'base64 of hex': /^[A-Za-z\d+/]{88}$/,
  'base64 of base64': /^[A-Za-z\d+/]{59}=$/,
}
