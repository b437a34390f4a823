/** What may be concluded from a painting, and what may not. */

export const PAINTS_FOR_YOU = "A server that is sent features of a photograph can try to paint it. This page is that server, for you, in this tab.";

export const NOTES: readonly string[] = [
  "A picture is a lower bound: one small network paints this much, and a larger one paints more of the same bytes. A proof is an upper bound: ε holds against every attacker, per keypoint.",
  "The attacker is told no more than a release carries. Sizes and angles of keypoints are guessed from their neighbours; where most descriptors are right (raw, and lifted after the attack) the guesses are corrected on the painting in four rounds, as the command sfumato attack photo does. Raw features are those of the same keypoints.",
  "Lifted: for the examples, the 1,000 strongest descriptors were hidden in subspaces and got back by the vertex attack, in Python (make_examples.py); this page paints what came back. The attack itself does not run here, so your own photographs have no such picture.",
  "Likeness is SSIM, which compares pixels: 1 is the photograph itself, and one flat colour has more than 0. A picture can score low and still show who is in it: look at it.",
];
