/** The targets, and the folders of `src` in which their new branches count. */
export const TARGETS = {
  planted: ['fuzz/targets/planted.mjs'],
  verify: ['src/signature/'],
  payload: ['src/payload/'],
  receiver: ['src/receiver/', 'src/signature/', 'src/payload/'],
  captures: ['src/cli/captures/', 'src/cli/io/json.ts', 'src/shared/redact.ts'],
  forms: [
    'src/mock/admin/',
    'src/mock/state/',
    'src/mock/http/',
    'src/payload/parse.ts',
    'src/mock/schemas.ts',
  ],
  changes: ['src/changes/', 'src/payload/changes-url.ts', 'src/payload/json.ts'],
}
