/** Why a file cannot be read, as the end of a sentence that begins with the file's name. */
export class TaskUnreadable extends Error {}
