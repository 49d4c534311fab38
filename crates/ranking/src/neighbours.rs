/// Lends each item of a sequence a share of its neighbours' scores.
///
/// In a conversation the answer is often next to the turn that contains the question's words. The
/// idea is passage expansion by position, as in the positional language model of Yuanhua Lv and
/// ChengXiang Zhai: *Positional Language Models for Information Retrieval*, 2009.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbours {
    /// The share by distance: for direct neighbours first, then for distance two, ….
    pub shares: Vec<f32>,
}

impl Default for Neighbours {
    /// Two to each side, .2 and .1.
    fn default() -> Self {
        Self { shares: vec![0.2, 0.1] }
    }
}

impl Neighbours {
    /// The score lent to each item, given the scores of a sequence in order; 0 stands for "not
    /// found". The sum is computed from the nearest to the farthest, at each distance the earlier
    /// item first.
    ///
    /// ```
    /// let lent = waypost_ranking::Neighbours::default().lent(&[0.0, 1.0, 0.0, 0.0]);
    /// assert_eq!(lent, [0.2, 0.0, 0.2, 0.1]);
    /// ```
    pub fn lent(&self, scores: &[f32]) -> Vec<f32> {
        (0..scores.len())
            .map(|at| {
                self.shares.iter().enumerate().fold(0.0, |sum, (step, share)| {
                    let before = at.checked_sub(step + 1).and_then(|at| scores.get(at));
                    let after = scores.get(at + step + 1);
                    sum + share * before.copied().unwrap_or(0.0)
                        + share * after.copied().unwrap_or(0.0)
                })
            })
            .collect()
    }
}
