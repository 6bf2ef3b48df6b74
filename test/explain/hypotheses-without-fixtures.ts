/** Hypotheses without two fixtures, because no installed runtime can make them, with the reason. */
export const NOT_AVAILABLE: ReadonlyMap<string, string> = new Map([
  ...list('documented rules of .NET', [
    'System.Text.Json with relaxed escapes',
    'System.Text.Json, indented',
    'System.Text.Json, indented, with relaxed escapes',
    'Newtonsoft.Json',
    'Newtonsoft.Json, indented',
    'Newtonsoft.Json with EscapeNonAscii',
    'Newtonsoft.Json with EscapeHtml',
    "ASP.NET's JavaScriptSerializer",
  ]),
  ...list('documented rules of Swift, Dart and MySQL', [
    "Swift's JSONSerialization",
    "Swift's JSONSerialization with prettyPrinted",
    "Dart's jsonEncode",
    'MySQL',
  ]),
  ...list('documented rules of org.json, which Debian does not have', [
    'org.json with an indent of 1',
    'org.json with an indent of 2',
    'org.json with an indent of 4',
  ]),
  ...list('Debian has Go 1.19', ["Go's json.Marshal since 1.22"]),
  ...list('Debian has json 2.6, which ignores the option', ["Ruby's JSON.generate with script_safe"]),
  ...['compressed', 'decompressed'].map(
    (state) => [`over the ${state} body (zstd)`, 'Node.js 20 has no zstd'] as const,
  ),
])

function list(reason: string, writers: readonly string[]): (readonly [string, string])[] {
  return writers.map((name) => [`over the same JSON as ${name} writes it`, reason])
}
