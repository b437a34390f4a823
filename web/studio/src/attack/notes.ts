/** What may be concluded from a painting, and what may not. */

export const PAINTS_FOR_YOU = "A server that is sent features of a photograph can try to paint it. This page is that server, for you, in this tab.";

export const NOTES: readonly string[] = [
  "A picture is a lower bound: one small network, trained on 200 photographs (BSDS500, for research), paints this much. A larger one paints more of the same bytes. A proof is an upper bound: ε holds against every attacker, per keypoint.",
  "Words are read by taking each for the truth, the best single guess there is; the painter was trained on raw descriptors, not on words. Raw features are those of the same keypoints.",
  "Lifted: for the examples, the 1,000 strongest descriptors were hidden in subspaces and got back by the vertex attack, in Python (make_examples.py); this page paints what came back. The attack itself does not run here, so your own photographs have no such picture.",
  "SSIM compares pixels, 1 is the photograph itself. A picture can score low and still show who is in it: look at it.",
];
