/** Modules of the program by their path below `src/`, as the catalogue names them. */

/** Loads a module. The bundle has a table of them in place of this file. */
export const moduleAt = async (path: string): Promise<object> =>
  (await import(new URL(path, import.meta.url).href)) as object
