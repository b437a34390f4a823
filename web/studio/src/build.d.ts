/** The version of the package that the page was built from. */
declare const __PAGE_VERSION__: string;
