/** A field of a multipart form, as binary strings. */
export interface Part {
  name: string
  content: string
}

/** Maximum number of parts that are read. */
const MAX_PARTS = 20

/** Reads a body of the type multipart/form-data (RFC 7578). Returns an empty list for other bodies. */
export function partsOf(binary: string): Part[] {
  const boundary = /^(?:\r?\n)?(--[^\r\n]{1,100})\r?\n/.exec(binary)?.[1]
  if (!boundary) return []
  return binary
    .split(boundary, MAX_PARTS + 1)
    .slice(1)
    .flatMap((part) => {
      const [headers = '', blank = ''] = /^\r?\n.{0,2000}?(\r?\n\r?\n)/s.exec(part) ?? []
      if (!blank) return []
      const name = /\bname="?([^";\r\n]{0,100})/.exec(headers)?.[1] ?? ''
      return [{ name, content: part.slice(headers.length).replace(/\r?\n$/, '') }]
    })
}
