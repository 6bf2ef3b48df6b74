/** What languages print for a value that was not written as JSON. */
const PRINTED: readonly [pattern: RegExp, description: string][] = [
  [/^\[object \w{1,40}\](,\[object \w{1,40}\])*$/, 'a JavaScript object that was converted to text'],
  [
    /^(Array|Object|stdClass Object)(\r?\n\s*\(\r?\n[\s\S]*\))?$|^array\(\d+\) \{[\s\S]*\}$/,
    'what PHP prints for an array or object',
  ],
  [/^[aO]:\d{1,9}:[{"][\s\S]*\}$/, 'what serialize of PHP writes'],
  [/^map\[[^"]*\]$/, 'what Go prints for a map'],
  [/^\[(123|91)( \d{1,3}){3,}\]$/, 'what Go prints for the bytes of JSON'],
  [/^b(["'])[\s\S]*\1$/, 'what Python prints for bytes'],
  [
    /^<[\w. <>]{1,100} at 0x[0-9a-f]{4,16}>$|^\{'[^}]{0,500}\bdatetime\.datetime\(/,
    'what Python prints for an object',
  ],
  [/^#<[A-Z][\w:]*[\s:>][\s\S]*$|^\{:\w+ ?=>[\s\S]*\}$/, 'what Ruby prints for an object or hash'],
  [
    /^[{(\w]*\b(serviceName|serviceType|events|eventType|changeTypes?)=[^"]*[)}]$|^(\[+[A-Z][\w$.;]*|([a-z]\w*\.)+[A-Z][\w$]*)@[0-9a-f]{4,8}$/,
    'what Java or Kotlin prints for an object',
  ],
  [/^(HASH|ARRAY|SCALAR)\(0x[0-9a-f]{4,16}\)$/, 'what Perl prints for a reference'],
  [/^System\.[\w.]+(`\d\[[\w.,]+\]|\[\])?$/, 'the name of a type, which .NET prints for an object'],
]

/** Maximum number of characters. In a longer text, the repeated groups of the patterns could overflow the stack. */
const MAX_LENGTH = 1024 * 1024

/** Returns a description of a text that a language prints for a value, or undefined for other texts. */
export const findPrinted = (text: string): string | undefined =>
  text.length > MAX_LENGTH ? undefined : PRINTED.find(([pattern]) => pattern.test(text))?.[1]
