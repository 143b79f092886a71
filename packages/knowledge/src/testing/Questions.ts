/** A question as a caller would ask it, and a phrase of the passage that answers it. */
export interface Question {
  readonly question: string
  readonly answer: string
}

/**
 * Questions on `jargon.md`: entries of the Jargon File 4.4.7 (29 December 2003), which is in the public domain. The text is that of
 * Debian's package dict-jargon 4.4.7-3.1 (`/usr/share/doc/dict-jargon/copyright`), without pronunciations: the entries that answer these
 * questions, and others at random.
 */
export const questions: ReadonlyArray<Question> = [
  {
    question: "What do you call it when somebody makes a screen with far too many bright colours?",
    answer: "uses too many colors"
  },
  {
    question: "Why does an old program nobody touched suddenly stop working?",
    answer: "unused programs or features will often stop working"
  },
  {
    question: "I have a bug that goes away whenever I try to look at it, is there a word for that?",
    answer: "disappears or alters its behavior"
  },
  {
    question: "What is it called when you don't know where to stop a piece of work?",
    answer: "Not knowing where or when to bring a production to a close"
  },
  {
    question: "Is there a name for a security hole that the makers left open on purpose?",
    answer: "deliberately left in place"
  },
  {
    question: "Someone copies lines of code into programs without knowing why they are needed, what is that?",
    answer: "ritual inclusion of code"
  },
  {
    question: "What is a hidden joke message inside of a program called?",
    answer: "hidden in the object code of a program as a joke"
  },
  {
    question: "Code that can never run because nothing calls it any more, does that have a name?",
    answer: "can never be accessed because all calls to them have been removed"
  },
  {
    question: "Two processes wait for each other forever, what do I call this?",
    answer: "unable to proceed because each is waiting"
  },
  {
    question: "Why do successors of small elegant systems become so bloated?",
    answer: "designing the successor to a relatively small"
  },
  {
    question: "What do people call code with tangled control flow and lots of gotos?",
    answer: "complex and tangled control structure"
  },
  { question: "What is malware called which pretends to be a harmless game?", answer: "disguised as something benign" },
  {
    question: "Who is it that can find and fix bugs quickly in an emergency?",
    answer: "find and fix bugs quickly in an emergency"
  },
  { question: "Which animal lurks in the Macintosh technical notes?", answer: "semi-legendary creature" },
  {
    question: "Who came up with fear, uncertainty and doubt about the salesmen of IBM?",
    answer: "Defined by Gene Amdahl"
  },
  { question: "What's the rule that says to blame stupidity and not malice?", answer: "Never attribute to malice" },
  {
    question: "How often does computing capacity double according to the law?",
    answer: "doubling time close to a year"
  },
  {
    question: "Which law says that if a thing can be done in a catastrophic way someone will do it?",
    answer: "can result in a catastrophe"
  },
  {
    question: "What do you call members of a forum who read everything but hardly ever post?",
    answer: "posts occasionally or not at all"
  },
  { question: "Why does a chip stop functioning once smoke came out?", answer: "trapped inside IC packages" },
  { question: "What is nethack?", answer: "dungeon game similar to rogue" },
  {
    question: "Why does the last ten percent of the code take so long to develop?",
    answer: "remaining 10% of the code"
  },
  {
    question: "I started counting at one when I should have started at zero, which error is that?",
    answer: "starting at 0 when you should have started at 1"
  },
  {
    question: "What do they call the flat thin case of Sun workstations?",
    answer: "largish thin box housing the electronics"
  },
  {
    question: "Is there a name for a program that prints its own source?",
    answer: "generates a copy of its own source text"
  },
  {
    question: "How does the cipher work that shifts letters by thirteen places in the alphabet?",
    answer: "13 places forward or back along the alphabet"
  },
  {
    question: "How do you call moving data by carrying disks from one computer to another?",
    answer: "physically carrying tape, disks"
  },
  { question: "What is an archive made with tar called?", answer: "created with the Unix tar(1) utility" },
  {
    question: "The machine spends all its time swapping memory to disk, what's happening?",
    answer: "moving data into and out of core"
  },
  { question: "Can disk drives really walk across the floor?", answer: "across a room" },
  {
    question: "What do you call a useless ritual done over broken software just so that others are satisfied?",
    answer: "perform a ritual in the direction of crashed software"
  },
  {
    question: "A program that copies itself through the network, what's that?",
    answer: "propagates itself over a network"
  },
  { question: "What does wysiwyg stand for?", answer: "What You See Is What You Get" },
  {
    question: "What is a dead process called that is still in the process table?",
    answer: "died but has not yet relinquished"
  },
  { question: "How do hackers call their pseudonym?", answer: "electronic pseudonym" },
  {
    question: "Give me examples of the great religious wars about editors and operating systems",
    answer: "ITS vs.: Unix"
  },
  { question: "How many posts do I need for a fence of a hundred feet?", answer: "build a fence 100 feet long" },
  { question: "What is a hacker's word for a vacuum tube?", answer: "constructed out of glass, metal, and vacuum" },
  {
    question: "What do sysadmins do when there's a sudden operational problem?",
    answer: "correct sudden operational problems"
  },
  {
    question: "What is the random quote called that is shown when I log in?",
    answer: "printed to the user's tty at login"
  },
  {
    question: "Is there a word for a language feature that invites mistakes?",
    answer: "tends to breed bugs or mistakes"
  },
  { question: "What is the summary card of an assembly language called?", answer: "summary of an assembly language" },
  {
    question: "Is it ethical for hackers to break into systems for fun?",
    answer: "system-cracking for fun and exploration"
  },
  {
    question: "Where does a program spend ninety percent of its execution time?",
    answer: "eats 90% of the execution time"
  },
  {
    question: "We keep this stupid thing for backwards compatibility, which phrase fits?",
    answer: "backwards compatibility"
  },
  {
    question: "What does it mean if doing something twice is the same as once?",
    answer: "Acting as if used only once"
  },
  {
    question: "Loops that never end, what is the joke about the Cray?",
    answer: "so fast it can execute an infinite loop"
  },
  {
    question: "Why would a programmer write obscure code to become indispensable?",
    answer: "making himself indispensable"
  },
  { question: "Which spicy Chinese dish with peanuts do hackers like?", answer: "containing chicken, peanuts" },
  {
    question: "There are strange characters on my serial connection from interference, what is it?",
    answer: "Spurious characters due to electrical noise"
  },
  {
    question: "My program uses up more and more memory because it never frees any",
    answer: "fail to reclaim discarded memory"
  },
  { question: "What's software called that keeps reminding you to register?", answer: "reminding you to register" },
  { question: "When was the term open source invented?", answer: "coined in March 1998" },
  { question: "How did people make long distance calls for free?", answer: "free long-distance calls" },
  {
    question: "How can I check whether another computer on the network is alive?",
    answer: "presence and alertness of another"
  },
  { question: "Which author wants a card from my home town as payment?", answer: "send a postcard of their home town" },
  {
    question: "What do you call a hasty fix that will cause trouble later?",
    answer: "put together under time or user pressure"
  },
  {
    question: "Which system recovers gracefully from unusual input?",
    answer: "recover gracefully from the whole range"
  },
  {
    question: "Who are the hackers that do legal cracking jobs for hire?",
    answer: "hires out for legal cracking jobs"
  },
  { question: "Why should one mount a scratch monkey before testing?", answer: "irreplaceable data or devices" },
  {
    question: "What do you call crackers who only run tools of others and don't understand them?",
    answer: "lowest form of cracker"
  },
  { question: "Software where the author asks for some payment", answer: "author requests some payment" },
  {
    question: "I change things at random hoping that the bug goes away, does it work?",
    answer: "perturbed out of existence"
  },
  {
    question: "What is the first test after repairing electronics, where you look for sparks?",
    answer: "power is applied and the tester checks for sparks"
  },
  {
    question: "Two networks may not be connected, so an operator reads from one screen and types into the other",
    answer: "having an operator read from one and type into the other"
  },
  {
    question: "What are teams called that get paid to penetrate security?",
    answer: "penetrate security, and thus test security measures"
  },
  {
    question: "What is someone who posts only to annoy others in discussions?",
    answer: "to annoy someone or disrupt a discussion"
  },
  { question: "Who kills trees by wasting paper?", answer: "A person who wastes paper" },
  {
    question: "A tool that dials a range of phone numbers and looks for modems",
    answer: "calls a given list or range of phone numbers"
  },
  { question: "What is the human brain called as opposed to hardware?", answer: "human nervous system" }
]
